// What each bomb of tests/hostile costs: wall clock from the file to its refusal, through the
// worker of its class with the default limits and deadlines, and by how much the peak of this
// process, which is the server's side, grew. Behind them what is within all limits and as costly
// as that can be, resized to a model's picture. Prints milliseconds: the least of the rounds, which
// other work on the machine disturbs least, and their median, and what came of it.
//
//   ninja -C build/release bombs && build/release/bench/bombs build/release/bin [ROUNDS]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "hostile/bombs.h"
#include "media/decode_session.h"

namespace {

namespace media = tessera::media;
namespace sandbox = tessera::sandbox;
using std::chrono::steady_clock;
using tessera::ImageSize;
using tessera::hostile::Bomb;

constexpr int kRoundsDefault = 5;
constexpr int kModelSide = 1120;

std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  std::int64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib;
}

std::string refuse_or_decode(const media::DecoderOptions& options,
                             const std::vector<tessera::EncodedMedia>& files) {
  auto session = media::DecodeSession::open(options, {}, files, {});
  if (!session) return session.error().reason;
  const auto probed = session->probe();
  if (!probed) return probed.error().reason;
  std::vector<ImageSize> targets;
  for (const media::ProbedImage& image : *probed) {
    targets.push_back(
        {std::min(image.size.width, kModelSide), std::min(image.size.height, kModelSide)});
  }
  const auto images = session->decode(targets);
  return images ? "accepted" : images.error().reason;
}

void measure(const media::DecoderOptions& options, const Bomb& bomb, int n_rounds) {
  std::vector<double> times;
  std::string outcome;
  std::int64_t growth_kib = 0;
  for (int round = 0; round < n_rounds; ++round) {
    std::vector<tessera::EncodedMedia> files;
    files.push_back(media::testing::to_media(bomb.bytes));
    files.back().n_frames = bomb.n_frames;
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak is what is resident now
    const std::int64_t before_kib = peak_kib();
    const auto start = steady_clock::now();
    outcome = refuse_or_decode(options, files);
    times.push_back(std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
    growth_kib = std::max(growth_kib, peak_kib() - before_kib);
  }
  std::ranges::sort(times);
  std::printf("%-42s %9zu B %8.1f ms, median %8.1f  +%5lld KiB  %s\n", bomb.name.c_str(),
              bomb.bytes.size(), times.front(), times[times.size() / 2],
              static_cast<long long>(growth_kib), outcome.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: bombs FOLDER-OF-WORKERS [ROUNDS]\n", stderr);
    return 2;
  }
  const auto folder = std::filesystem::absolute(argv[1]);
  const int n_rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : kRoundsDefault;
  const tessera::SteadyClock clock;
  std::vector<std::unique_ptr<sandbox::Zygote>> zygotes;
  for (const char* name : {"tessera-media-worker", "tessera-video-worker", "tessera-heif-worker"}) {
    auto zygote = sandbox::Zygote::start({folder / name, true}, clock);
    if (!zygote) {
      std::fprintf(stderr, "%s: %s\n", name, zygote.error().message.c_str());
      return 1;
    }
    zygotes.push_back(*std::move(zygote));
  }
  media::DecoderOptions options;
  options.zygotes = {zygotes[0].get(), zygotes[1].get(), zygotes[2].get()};
  const std::array lists{tessera::hostile::image_bombs, tessera::hostile::video_bombs,
                         tessera::hostile::heic_bombs, tessera::hostile::costly_files};
  for (const auto list : lists) {
    for (const Bomb& bomb : list()) measure(options, bomb, n_rounds);
  }
  return 0;
}
