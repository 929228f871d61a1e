#include "app/decoders.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/program_folder.h"

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

/// The others lie beside the image worker, wherever that is.
fs::path image_worker(const cli::Settings& settings) {
  return settings.media_worker_path.empty() ? program_folder() / "tessera-media-worker"
                                            : fs::path(settings.media_worker_path);
}

Result<sandbox::Zygote::Starting> begin(const fs::path& program, const cli::Settings& settings) {
  if (::access(program.c_str(), X_OK) != 0) {
    return make_error(ErrorCode::kNotFound, "media_worker_not_found",
                      "no media worker program at " + program.string());
  }
  return sandbox::Zygote::begin({program.string(), settings.unsafe_decoders});
}

Result<std::unique_ptr<sandbox::Zygote>> finish(std::optional<sandbox::Zygote::Starting>& starting,
                                                const Clock& clock) {
  if (!starting) return std::unique_ptr<sandbox::Zygote>();
  return sandbox::Zygote::finish(*std::move(starting), clock);
}

}  // namespace

sandbox::SandboxLevel Decoders::level() const {
  sandbox::SandboxLevel weakest = sandbox::SandboxLevel::kA;
  for (const auto* zygote : {image.get(), video.get(), heif.get()}) {
    if (zygote != nullptr) weakest = std::max(weakest, zygote->level());
  }
  return weakest;
}

Result<StartingDecoders> begin_decoders(const cli::Settings& settings) {
  const fs::path folder = image_worker(settings).parent_path();
  StartingDecoders starting;
  TSR_ASSIGN_OR_RETURN(starting.image, begin(image_worker(settings), settings));
  if (settings.allow_video) {
    TSR_ASSIGN_OR_RETURN(starting.video, begin(folder / "tessera-video-worker", settings));
  }
  if (settings.allow_heic) {
    TSR_ASSIGN_OR_RETURN(starting.heif, begin(folder / "tessera-heif-worker", settings));
  }
  return starting;
}

Result<Decoders> finish_decoders(StartingDecoders starting, const Clock& clock,
                                 metrics::Metrics& metrics) {
  Decoders decoders;
  TSR_ASSIGN_OR_RETURN(decoders.image, finish(starting.image, clock));
  TSR_ASSIGN_OR_RETURN(decoders.video, finish(starting.video, clock));
  TSR_ASSIGN_OR_RETURN(decoders.heif, finish(starting.heif, clock));
  metrics.set_sandbox_level(sandbox::to_string(decoders.level()));
  return decoders;
}

}  // namespace tessera::app
