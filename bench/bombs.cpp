// What each bomb of tests/hostile costs: wall clock from the file to its refusal, through the
// worker of its class with the default limits and deadlines, the processor time of its decoder, and
// by how much the peak of this process, which is the server's side, grew. Behind them what is
// within all limits and as costly as that can be, resized to a model's picture.
//
// Each round takes every file once, so that what else the machine does meets all of them. Prints
// milliseconds: of the wall clock the least, the median and the ninth of ten; of the processor,
// which other work disturbs less, the median and the most; and what came of the file.
//
//   ninja -C build/release bombs && build/release/bench/bombs build/release/bin [ROUNDS [LIST]]
//
// LIST: image, video, heic or costly; all without one. Files that are accepted come once.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "hostile/bombs.h"
#include "media/decode_session.h"
#include "sandbox/test_processes.h"

namespace {

namespace media = tessera::media;
namespace sandbox = tessera::sandbox;
using std::chrono::steady_clock;
using tessera::ImageSize;
using tessera::hostile::Bomb;

constexpr int kRoundsDefault = 5;
constexpr int kModelSide = 1120;

struct List {
  std::string_view name;
  std::vector<Bomb> (*make)();
};
constexpr std::array kLists{
    List{"image", tessera::hostile::image_bombs}, List{"video", tessera::hostile::video_bombs},
    List{"heic", tessera::hostile::heic_bombs}, List{"costly", tessera::hostile::costly_files}};

std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  std::int64_t kib = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib;
}

struct Costs {
  const Bomb* bomb = nullptr;
  int n_rounds = 0;
  std::vector<double> wall_ms;
  std::vector<double> cpu_ms;  // of decoders that were not killed
  std::int64_t growth_kib = 0;
  std::string outcome;
};

/// Of a process and the threads that it had; nothing when it is gone.
std::optional<double> cpu_ms_of(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return {};
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// Asks for pixels of a file that is not refused by its headers.
std::string refuse_or_decode(media::DecodeSession& session) {
  const auto probed = session.probe();
  if (!probed) return probed.error().reason;
  std::vector<ImageSize> targets;
  for (const media::ProbedImage& image : *probed) {
    targets.push_back(
        {std::min(image.size.width, kModelSide), std::min(image.size.height, kModelSide)});
  }
  const auto images = session.decode(targets);
  return images ? "accepted" : images.error().reason;
}

void measure_once(const media::DecoderOptions& options, Costs& costs) {
  std::vector<tessera::EncodedMedia> files;
  files.push_back(media::testing::to_media(costs.bomb->bytes));
  files.back().n_frames = costs.bomb->n_frames;
  const auto zygotes = sandbox::test_support::descendants();
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak is what is resident now
  const std::int64_t before_kib = peak_kib();
  {
    const auto start = steady_clock::now();
    auto session = media::DecodeSession::open(options, {}, files, {});
    costs.outcome = session ? refuse_or_decode(*session) : session.error().reason;
    costs.wall_ms.push_back(
        std::chrono::duration<double, std::milli>(steady_clock::now() - start).count());
    costs.growth_kib = std::max(costs.growth_kib, peak_kib() - before_kib);
    for (const pid_t decoder : sandbox::test_support::descendants()) {
      if (zygotes.contains(decoder)) continue;
      if (const auto cpu_ms = cpu_ms_of(decoder)) costs.cpu_ms.push_back(*cpu_ms);
    }
  }
  sandbox::test_support::shrinks_to(zygotes);
}

double at_share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void print(const Costs& costs) {
  std::printf("%-42s %7zu B  wall %7.1f %7.1f %7.1f  cpu %7.1f %7.1f  +%4lld KiB  %s\n",
              costs.bomb->name.c_str(), costs.bomb->bytes.size(), at_share(costs.wall_ms, 0),
              at_share(costs.wall_ms, 0.5), at_share(costs.wall_ms, 0.9),
              at_share(costs.cpu_ms, 0.5), at_share(costs.cpu_ms, 1),
              static_cast<long long>(costs.growth_kib), costs.outcome.c_str());
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
  const std::string_view wanted = argc > 3 ? argv[3] : "";
  std::vector<Bomb> bombs;
  for (const auto& [name, make] : kLists) {
    if (wanted.empty() || wanted == name) std::ranges::move(make(), std::back_inserter(bombs));
  }
  std::vector<Costs> all;
  for (const Bomb& bomb : bombs) {
    all.push_back({&bomb, bomb.reason == "accepted" ? 1 : n_rounds, {}, {}, 0, {}});
  }
  for (int round = 0; round < n_rounds; ++round) {
    for (Costs& costs : all) {
      if (round < costs.n_rounds) measure_once(options, costs);
    }
  }
  for (const Costs& costs : all) print(costs);
  return 0;
}
