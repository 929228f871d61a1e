// What the stages need from a model, in terms of core/ values. Three implementations: runtime/llama
// (libllama + libmtmd; the only code that includes their headers), runtime/fake (deterministic, can
// be told to fail in every way the real one can), and runtime/remote (either of them, in a process
// of its own).
//
// A model is three objects, one for each kind of thread that uses it:
//   Model     immutable after load; every method may be called from any thread at any time
//   Encoder   the encode thread only
//   Executor  the engine thread only; owns the KV cache
// Encoder and Executor keep the Model alive. No method throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/embedding.h"
#include "core/ids.h"
#include "core/image.h"
#include "core/prompt.h"
#include "core/request.h"
#include "core/result.h"
#include "core/token_event.h"
#include "runtime/executor.h"
#include "runtime/model_info.h"

namespace tessera::runtime {

// --- a prompt before it is tokenized --------------------------------------------------------

/// Text of the chat template itself; its special tokens count.
struct TemplateText {
  std::string text;
};

/// Text of the user's; never becomes a special token or a media marker.
struct UserText {
  std::string text;
};

/// Stands for one image, in order of appearance.
struct MediaPlace {
  std::size_t image_index = 0;
};

using PromptPart = std::variant<TemplateText, UserText, MediaPlace>;

// --- sampling ---------------------------------------------------------------------------------

struct SamplerOptions {
  SamplingOptions sampling;
  ResponseFormat format;
  bool logprobs = false;
  int n_top_logprobs = 0;
};

// --- the three objects --------------------------------------------------------------------------

/// @thread every method from any thread
class Model {
 public:
  virtual ~Model() = default;

  virtual const ModelInfo& info() const = 0;

  /// Waits while what computes is being started again (Availability). No wait at all for a model of
  /// this process.
  /// @param stop  ends the wait, without an error
  /// @errors      unavailable (engine_unavailable: it does not start)
  virtual Result<void> wait_until_ready(const ShouldStop& /*stop*/) const { return {}; }

  /// Renders the model's own chat template, with the generation prompt at the end.
  /// @return  parts in order; one MediaPlace for each ImagePart, in order of appearance
  /// @errors  invalid_argument (the template refuses these messages); internal
  virtual Result<std::vector<PromptPart>> apply_chat_template(
      std::span<const Message> messages) const = 0;

  /// Turns parts into segments. Images are placeholders: only their sizes are needed.
  /// Guards the library's overflow and aspect traps; a size outside what the model's own
  /// preprocessing can take is an error, never an abort.
  /// @param images  one per MediaPlace
  /// @errors        invalid_argument (an image's size); internal
  virtual Result<Prompt> tokenize(std::span<const PromptPart> parts,
                                  std::span<const ImageInput> images) const = 0;

  /// Resizes, tiles and normalises one image of the size that tokenize() planned to be decoded.
  /// From ImagePlan::first_tile on the tiles are the planned ones, in the same order.
  /// @errors  invalid_argument, internal
  virtual Result<std::vector<std::unique_ptr<PreparedTile>>> prepare(const Image& image) const = 0;

  /// The bytes of a token; may be empty or a part of a UTF-8 character. Special tokens that are not
  /// meant for people give an empty piece.
  virtual std::string piece(TokenId token) const = 0;

  /// @errors  invalid_argument (a JSON schema that has no grammar); internal
  virtual Result<std::unique_ptr<Sampler>> make_sampler(const SamplerOptions& options) const = 0;
};

/// @thread encode thread only
class Encoder {
 public:
  virtual ~Encoder() = default;

  /// Vision tower and projector for one tile.
  /// @param stop  asked while it runs; a stopped encode returns `cancelled`
  /// @return      [tile.n_tokens()][embedding_row_width] f32
  /// @errors      cancelled; internal (native code ≠ 0)
  virtual Result<Embedding> encode(const PreparedTile& tile, const ShouldStop& stop) = 0;

  /// Whether encode_batch() computes its tiles together.
  virtual bool takes_batches() const = 0;

  /// Only where takes_batches(). Tiles of one preprocessed width and height: libmtmd scrambles
  /// others in silence.
  /// @param tiles  at least one
  /// @return       one per tile, as encode() gives them
  /// @errors       as encode(), for all of them
  virtual Result<std::vector<Embedding>> encode_batch(std::span<const PreparedTile* const> tiles,
                                                      const ShouldStop& stop) = 0;
};

struct LoadOptions {
  std::string model_path;
  std::string mmproj_path;   // empty = text only
  int context_length = 0;    // per sequence; 0 = what the model was trained for
  int n_sequences_max = 16;  // those that run, and those that keep prefixes
  int n_kv_cells = 0;        // shared; 0 = context_length × 2
  int n_threads = 0;         // for encode and language model together; 0 = every core we may use
};

struct LoadedModel {
  std::shared_ptr<const Model> model;
  std::unique_ptr<Encoder> encoder;  // null when the model has no vision
  std::unique_ptr<Executor> executor;
  std::string build;  // what computes, with the features of the processor
};

}  // namespace tessera::runtime
