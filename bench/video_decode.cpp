// From the bytes of a video to eight frames of a model's size, in this process on one core: the two
// phases that a worker goes through. Prints milliseconds of core time and the process's peak
// memory.
//
//   video_decode FILE [rounds]        (tessera-test-clip writes files)
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/limits.h"
#include "media/frames.h"
#include "media/validate.h"
#include "media/video/video_decoder.h"

namespace {

using namespace tessera;         // NOLINT(google-build-using-namespace): a program of one file
using namespace tessera::media;  // NOLINT(google-build-using-namespace)

constexpr int kFrames = 8;
constexpr int kRoundsDefault = 9;
constexpr int kWidth = 448;  // of a model's picture

double core_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::vector<std::uint8_t> file{std::istreambuf_iterator<char>(in), {}};
  const int n_rounds = argc > 2 ? std::atoi(argv[2]) : kRoundsDefault;
  const wire::ImageLimits limits = image_limits(Limits{}, DecoderClass::kVideo);
  video::warm_up_video();

  std::vector<double> probing;
  std::vector<double> decoding;
  Probe found;
  for (int round = 0; round < n_rounds; ++round) {
    const double start = core_ms();
    found = video::probe_video(file, kFrames, limits);
    const double probed = core_ms();
    if (found.header.error != MediaError::kNone) return 1;
    const ImageSize whole = found.header.oriented();
    const int width = std::min(kWidth, whole.width);
    const ImageSize target{width, std::max(1, whole.height * width / whole.width)};
    const auto frames = sample_frames(found.n_frames, kFrames);
    std::vector<std::uint8_t> out(frames.size() * rgb_bytes(target));
    if (video::decode_video(file, limits, target, frames, out) != MediaError::kNone) return 1;
    probing.push_back(probed - start);
    decoding.push_back(core_ms() - probed);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%d frames of %dx%d, %d gone through: probe %.1f ms, decode %.1f ms, peak %ld MiB\n",
              found.n_frames, found.header.stored.width, found.header.stored.height, found.n_passed,
              median(probing), median(decoding), usage.ru_maxrss / 1024);
  return 0;
}
