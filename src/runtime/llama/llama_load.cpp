// LlamaModel::load: files → weights, vision tower, template, shapes.
#include <chat.h>
#include <gguf.h>
#include <log.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "runtime/llama/llama_model.h"

namespace tessera::runtime::llama {
namespace {

/// Rows of one model call where images are causal: libllama's own default for a physical batch.
constexpr int kRowsCausal = 512;
/// … and where an image must go in one piece: Gemma 4 takes up to 1120 visual tokens.
constexpr int kRowsNonCausal = 2048;

/// Projectors whose graphs compute several tiles at once (clip_graph::support_batch() of libmtmd).
constexpr std::string_view kBatchingProjectors[] = {"gemma4v", "internvl", "deepseekocr",
                                                    "deepseekocr2"};
/// Visual tokens of a batch of tiles: the encode queue bounds them by patches, of which each has at
/// least one.
constexpr int kBatchTokensMax = 1 << 20;

/// Warnings of the native libraries go to stderr while a model loads, nothing afterwards: they may
/// quote what a request contained.
void load_log(ggml_log_level level, const char* text, void* /*unused*/) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

void no_log(ggml_log_level /*level*/, const char* /*text*/, void* /*unused*/) {}

void set_native_logs(ggml_log_callback callback) {
  llama_log_set(callback, nullptr);
  mtmd_log_set(callback, nullptr);
}

void start_backend_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llama_backend_init();
    common_log_pause(common_log_main());
  });
}

Result<std::int64_t> file_size(const std::string& path, const char* what) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return make_error(ErrorCode::kNotFound, "model_file_not_found",
                      std::string(what) + " file not found: " + path);
  }
  return std::int64_t{info.st_size};
}

/// A whole number of the model file's metadata; 0 when absent.
int meta_int(const llama_model* model, const std::string& key) {
  char text[64];
  if (llama_model_meta_val_str(model, key.c_str(), text, sizeof(text)) <= 0) return 0;
  return static_cast<int>(std::strtol(text, nullptr, 10));
}

std::string meta_text(const llama_model* model, const char* key) {
  char text[256];
  const int n = llama_model_meta_val_str(model, key, text, sizeof(text));
  return n > 0 ? std::string(text) : std::string();
}

/// "Tessera Tiny" → "tessera-tiny": what a client writes into `model`.
std::string to_name(std::string text) {
  for (char& c : text) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    c = keep ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  }
  return text.empty() ? "model" : text;
}

struct VisionFile {
  VisionShape shape;
  int merge_side = 1;  // patches of one token, along a side
  std::string projector;
};

/// Shapes from the projector file's metadata. Missing keys stay 0: they only feed estimates.
VisionFile read_vision_file(const std::string& path) {
  VisionFile file;
  gguf_context* gguf = gguf_init_from_file(path.c_str(), {/*no_alloc=*/true, nullptr});
  if (gguf == nullptr) return file;
  const auto number = [gguf](const char* key) {
    const std::int64_t id = gguf_find_key(gguf, key);
    if (id < 0 || gguf_get_kv_type(gguf, id) != GGUF_TYPE_UINT32) return 0;
    return static_cast<int>(std::min<std::uint32_t>(gguf_get_val_u32(gguf, id), 1U << 24U));
  };
  file.shape.n_layers = number("clip.vision.block_count");
  file.shape.width = number("clip.vision.embedding_length");
  file.shape.ffn_width = number("clip.vision.feed_forward_length");
  file.shape.patch_side = number("clip.vision.patch_size");
  file.shape.image_side = number("clip.vision.image_size");
  for (const char* key : {"clip.projector_type", "clip.vision.projector_type"}) {
    const std::int64_t id = gguf_find_key(gguf, key);
    if (id < 0 || gguf_get_kv_type(gguf, id) != GGUF_TYPE_STRING) continue;
    file.projector = gguf_get_val_str(gguf, id);
  }
  // The Qwen families merge 2×2 and do not write it down.
  file.merge_side = std::max(number("clip.vision.spatial_merge_size"), 2);
  gguf_free(gguf);
  return file;
}

LanguageShape read_language_shape(const llama_model* model) {
  const std::string prefix = meta_text(model, "general.architecture") + ".";
  LanguageShape shape;
  shape.n_layers = llama_model_n_layer(model);
  shape.width = llama_model_n_embd(model);
  shape.n_heads = llama_model_n_head(model);
  shape.n_kv_heads = llama_model_n_head_kv(model);
  shape.head_dim = meta_int(model, prefix + "attention.key_length");
  if (shape.head_dim == 0 && shape.n_heads > 0) shape.head_dim = shape.width / shape.n_heads;
  shape.ffn_width = meta_int(model, prefix + "feed_forward_length");
  shape.n_parameters = static_cast<std::int64_t>(llama_model_n_params(model));
  return shape;
}

}  // namespace

Result<std::shared_ptr<LlamaModel>> LlamaModel::load(const LoadOptions& options) {
  start_backend_once();
  std::shared_ptr<LlamaModel> self(new LlamaModel);
  TSR_ASSIGN_OR_RETURN(self->info_.weight_bytes, file_size(options.model_path, "model"));
  set_native_logs(load_log);
  llama_model_params params = llama_model_default_params();
  self->model_.reset(llama_model_load_from_file(options.model_path.c_str(), params));
  if (self->model_ == nullptr) {
    set_native_logs(no_log);
    return make_error(ErrorCode::kInvalidArgument, "model_file_invalid",
                      "the model file cannot be loaded: " + options.model_path);
  }
  self->cores_ = std::make_unique<CoreShare>(options.n_threads);
  if (!options.mmproj_path.empty()) {
    const auto loaded = self->load_vision(options);
    if (!loaded) {
      set_native_logs(no_log);
      return loaded.error();
    }
  }
  const auto described = self->describe(options);
  set_native_logs(no_log);
  if (!described) return described.error();
  return self;
}

Result<void> LlamaModel::load_vision(const LoadOptions& options) {
  TSR_ASSIGN_OR_RETURN(const std::int64_t bytes, file_size(options.mmproj_path, "projector"));
  info_.weight_bytes += bytes;
  encoder_device_ = std::make_unique<EncoderDevice>(*cores_);
  mtmd_context_params params = mtmd_context_params_default();
  params.print_timings = false;
  params.n_threads = cores_->n_cores();
  params.batch_max_tokens = kBatchTokensMax;
  encoder_device_->attach(params);
  vision_.reset(mtmd_init_from_file(options.mmproj_path.c_str(), model_.get(), params));
  if (vision_ == nullptr || !mtmd_support_vision(vision_.get())) {
    return make_error(
        ErrorCode::kInvalidArgument, "projector_file_invalid",
        "the projector file cannot be loaded with this model: " + options.mmproj_path);
  }
  const VisionFile file = read_vision_file(options.mmproj_path);
  info_.has_vision = true;
  info_.uses_mrope = mtmd_decode_use_mrope(vision_.get());
  info_.vision = file.shape;
  patches_per_token_side_ = file.merge_side;
  takes_tile_batches_ =
      std::ranges::find(kBatchingProjectors, file.projector) != std::end(kBatchingProjectors);
  overview_ = OverviewCut(file.projector, vocabulary());
  info_.has_overview = overview_.is_possible();
  return {};
}

Result<void> LlamaModel::describe(const LoadOptions& options) {
  info_.name = to_name(meta_text(model_.get(), "general.name"));
  const int trained = llama_model_n_ctx_train(model_.get());
  if (options.context_length > trained) {
    return make_error(ErrorCode::kInvalidArgument, "context_length_too_large",
                      "context_length: " + std::to_string(options.context_length) +
                          " exceeds the " + std::to_string(trained) +
                          " tokens that this model was trained for");
  }
  info_.context_length = options.context_length > 0 ? options.context_length : trained;
  info_.n_vocabulary = llama_vocab_n_tokens(vocabulary());
  info_.embedding_row_width = llama_model_n_embd_inp(model_.get());
  info_.language = read_language_shape(model_.get());
  const bool non_causal = vision_ != nullptr && mtmd_decode_use_non_causal(vision_.get(), nullptr);
  n_rows_max_ = non_causal ? kRowsNonCausal : kRowsCausal;
  special_tokens_ = SpecialTokens(vocabulary());
  try {
    templates_.reset(common_chat_templates_init(model_.get(), "").release());
  } catch (const std::exception&) {
    return make_error(ErrorCode::kInvalidArgument, "chat_template_invalid",
                      "the model's chat template cannot be read");
  }
  return {};
}

}  // namespace tessera::runtime::llama
