// The worker programs of the decoder classes that the settings allow, each with its zygote.
// @thread construction and destruction by main; what is borrowed from any thread
#pragma once

#include <memory>
#include <optional>

#include "cli/settings.h"
#include "core/clock.h"
#include "core/result.h"
#include "media/decoder_options.h"
#include "metrics/metrics.h"
#include "sandbox/zygote.h"

namespace tessera::app {

struct Decoders {
  std::unique_ptr<sandbox::Zygote> image;
  std::unique_ptr<sandbox::Zygote> video;  // null without allow_video
  std::unique_ptr<sandbox::Zygote> heif;   // null without allow_heic

  media::DecoderZygotes zygotes() const { return {image.get(), video.get(), heif.get()}; }

  /// The weakest of them.
  sandbox::SandboxLevel level() const;
};

/// Worker programs that run and have not been waited for.
struct StartingDecoders {
  std::optional<sandbox::Zygote::Starting> image;
  std::optional<sandbox::Zygote::Starting> video;
  std::optional<sandbox::Zygote::Starting> heif;
};

/// Starts them all at once. Before the model is loaded: they share no page with it. libav alone is
/// 130 libraries, so that it is worth to load the model meanwhile.
/// @errors  not_found `media_worker_not_found`; those of Zygote::begin
Result<StartingDecoders> begin_decoders(const cli::Settings& settings);

/// Waits for all of them.
/// @errors  those of Zygote::start
Result<Decoders> finish_decoders(StartingDecoders starting, const Clock& clock,
                                 metrics::Metrics& metrics);

}  // namespace tessera::app
