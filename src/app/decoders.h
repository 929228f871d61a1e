// The worker programs of the decoder classes that the settings allow, each with its zygote.
// @thread construction and destruction by main; what is borrowed from any thread
#pragma once

#include <memory>

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

/// Starts them all at once. Before the model is loaded: they share no page with it.
/// @errors  not_found `media_worker_not_found`; those of Zygote::start
Result<Decoders> start_decoders(const cli::Settings& settings, const Clock& clock,
                                metrics::Metrics& metrics);

}  // namespace tessera::app
