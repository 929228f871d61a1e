// What the confinement of decoders costs a request: fork, lock-down, probe, decode and end of one
// small image, as the server sees it, beside a process that is started anew.
//
//   ninja -C build/release tessera-sandbox-cost tessera-media-worker
//   build/release/bench/tessera-sandbox-cost build/release/bin/tessera-media-worker image.png
//
// Prints microseconds: p50, p90 and the spread of the p50 over the rounds.
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "media/decode_session.h"
#include "sandbox/child_process.h"
#include "sandbox/memfd.h"
#include "sandbox/zygote.h"

namespace {

namespace media = tessera::media;
namespace sandbox = tessera::sandbox;
using std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kPerRound = 200;

void measure(const char* what, const std::function<bool()>& one) {
  std::vector<double> all;
  std::vector<double> medians;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> times;
    for (int i = 0; i < kPerRound; ++i) {
      const auto start = steady_clock::now();
      if (!one()) {
        std::printf("%-44s failed\n", what);
        return;
      }
      times.push_back(
          std::chrono::duration<double, std::micro>(steady_clock::now() - start).count());
    }
    std::ranges::sort(times);
    medians.push_back(times[times.size() / 2]);
    all.insert(all.end(), times.begin(), times.end());
  }
  std::ranges::sort(all);
  std::ranges::sort(medians);
  std::printf("%-44s p50 %7.0f  p90 %7.0f  p50 of rounds %.0f to %.0f\n", what, all[all.size() / 2],
              all[all.size() * 9 / 10], medians.front(), medians.back());
}

sandbox::WaitLimits patient() {
  return {steady_clock::now() + std::chrono::seconds(10), nullptr};
}

/// In a memfd of its own each time, as requests bring them.
tessera::EncodedMedia load(const std::string& bytes) {
  auto fd = sandbox::create_memfd("image", bytes.size()).value();
  auto region = sandbox::MappedRegion::map_writable(fd.get(), bytes.size()).value();
  std::copy(bytes.begin(), bytes.end(), region.writable_bytes().begin());
  return {std::move(fd), bytes.size()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: tessera-sandbox-cost WORKER IMAGE\n", stderr);
    return 2;
  }
  const std::string worker = std::filesystem::absolute(argv[1]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const tessera::SteadyClock clock;
  auto zygote = sandbox::Zygote::start({worker, true}, clock);
  if (!zygote) {
    std::fprintf(stderr, "%s\n", zygote.error().message.c_str());
    return 1;
  }
  std::printf("sandbox level %s\n", std::string(to_string((*zygote)->level())).c_str());
  const media::DecoderOptions options{{zygote->get()}};

  measure("ask for a child, return at once", [&] { return (*zygote)->fork_child().has_value(); });
  measure("fork a child, let it end, reaped", [&] {
    auto child = (*zygote)->fork_child();
    if (!child || child->wait_started(patient()) != sandbox::IoStatus::kOk) return false;
    child->channel().close();
    return child->wait_end(patient()).has_value();
  });
  measure("request: open, probe, decode, end", [&] {
    const std::array one{load(bytes)};
    auto session = media::DecodeSession::open(options, {}, one, {});
    return session && session->decode();
  });
  measure("start of a whole zygote, to its end",
          [&] { return sandbox::Zygote::start({worker, true}, clock).has_value(); });
  return 0;
}
