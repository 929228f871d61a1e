#include "app/decoders.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "app/program_folder.h"

namespace tessera::app {
namespace {

namespace fs = std::filesystem;

/// The others lie beside the image worker, wherever that is.
fs::path image_worker(const cli::Settings& settings) {
  return settings.media_worker_path.empty() ? program_folder() / "tessera-media-worker"
                                            : fs::path(settings.media_worker_path);
}

/// One class: its program, and where its zygote goes.
struct Row {
  fs::path program;
  std::unique_ptr<sandbox::Zygote>* zygote;
};

std::vector<Row> allowed_classes(const cli::Settings& settings, Decoders& decoders) {
  const fs::path image = image_worker(settings);
  std::vector<Row> rows{{image, &decoders.image}};
  const auto beside = [&image](const char* name) { return image.parent_path() / name; };
  if (settings.allow_video) rows.push_back({beside("tessera-video-worker"), &decoders.video});
  if (settings.allow_heic) rows.push_back({beside("tessera-heif-worker"), &decoders.heif});
  return rows;
}

}  // namespace

sandbox::SandboxLevel Decoders::level() const {
  sandbox::SandboxLevel weakest = sandbox::SandboxLevel::kA;
  for (const auto* zygote : {image.get(), video.get(), heif.get()}) {
    if (zygote != nullptr) weakest = std::max(weakest, zygote->level());
  }
  return weakest;
}

Result<Decoders> start_decoders(const cli::Settings& settings, const Clock& clock,
                                metrics::Metrics& metrics) {
  Decoders decoders;
  const std::vector<Row> rows = allowed_classes(settings, decoders);
  std::vector<sandbox::ZygoteOptions> options;
  for (const Row& row : rows) {
    if (::access(row.program.c_str(), X_OK) != 0) {
      return make_error(ErrorCode::kNotFound, "media_worker_not_found",
                        "no media worker program at " + row.program.string());
    }
    options.push_back({row.program.string(), settings.unsafe_decoders});
  }
  TSR_ASSIGN_OR_RETURN(auto zygotes, sandbox::Zygote::start_all(std::move(options), clock));
  for (std::size_t i = 0; i < rows.size(); ++i) *rows[i].zygote = std::move(zygotes[i]);
  metrics.set_sandbox_level(sandbox::to_string(decoders.level()));
  return decoders;
}

}  // namespace tessera::app
