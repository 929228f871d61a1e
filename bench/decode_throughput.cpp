// Images a second through the media stage with one and with two media threads: requests of one new
// JPEG each, decoded by a child each to a model's size. Rounds alternate, and the ratio is taken
// round by round.
//
//   ninja -C build/release decode_throughput tessera-media-worker
//   build/release/bench/decode_throughput build/release/bin/tessera-media-worker [ROUNDS]
//
// Wall clock: for a machine with two idle cores.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "core/token_stream.h"
#include "media/media_stage.h"
#include "media/testing/encode_images.h"

namespace {

namespace media = tessera::media;
namespace sandbox = tessera::sandbox;
using std::chrono::steady_clock;
using tessera::ImageSize;
using tessera::InFlight;
using tessera::Result;

constexpr int kRoundsDefault = 11;
constexpr int kImages = 60;
constexpr ImageSize kModel{1120, 840};

struct Kind {
  const char* name;
  ImageSize size;
};
constexpr std::array kKinds{Kind{"12 MP JPEG", {4000, 3000}}, Kind{"3 MP JPEG", {2000, 1500}},
                            Kind{"0.3 MP JPEG", {640, 480}}};

std::unique_ptr<InFlight> request_of(const media::testing::ByteVector& file, int number,
                                     const tessera::Clock& clock, std::stop_source& stop) {
  tessera::Request request;
  request.cache.scope = tessera::CachePolicy::Scope::kRequest;  // nothing is known of any
  request.media.push_back(media::testing::to_media(file));
  return std::make_unique<InFlight>(tessera::RequestId{static_cast<std::uint64_t>(number)},
                                    tessera::TenantId{0}, std::move(request), tessera::Limits{},
                                    tessera::Trace(clock.now()),
                                    clock.now() + std::chrono::hours(1), stop.get_token(),
                                    std::make_shared<tessera::TokenStream>(stop));
}

/// @return  images a second
double measure(sandbox::Zygote& zygote, const media::testing::ByteVector& file, int n_threads) {
  const tessera::SteadyClock clock;
  std::stop_source stop;
  std::latch done(kImages);
  media::MediaHooks hooks;
  hooks.plan = [](InFlight&, std::span<const ImageSize> sizes) {
    const ImageSize target{std::min(kModel.width, sizes[0].width),
                           std::min(kModel.height, sizes[0].height)};
    return Result<std::vector<ImageSize>>(std::vector<ImageSize>{target});
  };
  hooks.prepare = [](InFlight&, std::size_t, const tessera::Image&) -> Result<void> { return {}; };
  hooks.on_decoded = [](const std::optional<tessera::Error>& error) {
    if (error) std::abort();  // it would be waited for
  };
  hooks.next = [&done, &clock](std::unique_ptr<InFlight> request) {
    request->end(std::nullopt, clock.now());
    done.count_down();
  };
  media::MediaStageOptions options;
  options.decoder.zygotes.image = &zygote;
  options.n_threads = n_threads;
  options.queue_capacity = kImages;
  std::vector<std::unique_ptr<InFlight>> requests;
  for (int i = 0; i < kImages; ++i) requests.push_back(request_of(file, i, clock, stop));
  media::MediaStage stage(options, clock, hooks);

  const auto start = steady_clock::now();
  for (auto& request : requests) {
    if (!stage.try_submit(std::move(request))) std::abort();
  }
  done.wait();
  return kImages / std::chrono::duration<double>(steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: decode_throughput WORKER [ROUNDS]\n", stderr);
    return 2;
  }
  const int n_rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : kRoundsDefault;
  const tessera::SteadyClock clock;
  auto zygote = sandbox::Zygote::start({std::filesystem::absolute(argv[1]), true}, clock);
  if (!zygote) {
    std::fprintf(stderr, "%s\n", zygote.error().message.c_str());
    return 1;
  }
  for (const Kind& kind : kKinds) {
    const auto file = media::testing::encode_jpeg(media::testing::gradient(kind.size),
                                                  {.quality = 88, .exif = {}, .icc = {}});
    std::vector<double> one;
    std::vector<double> two;
    std::vector<double> ratios;
    for (int round = 0; round < n_rounds; ++round) {
      one.push_back(measure(**zygote, file, 1));
      two.push_back(measure(**zygote, file, 2));
      ratios.push_back(two.back() / one.back());
    }
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf("%-12s 1 thread %6.1f images/s, 2 threads %6.1f, ratio %.2f (%.2f to %.2f)\n",
                kind.name, median(one), median(two), median(ratios), least, most);
    std::fflush(stdout);
  }
  return 0;
}
