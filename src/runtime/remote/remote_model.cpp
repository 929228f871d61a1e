#include "runtime/remote/remote_model.h"

#include <algorithm>
#include <utility>

#include "runtime/remote/remote_executor.h"

namespace tessera::runtime::remote {
namespace {

Error bad_answer() {
  return make_error(ErrorCode::kInternal, "internal_error",
                    "the engine process gave an answer that makes no sense");
}

bool names_known_images(const std::vector<PromptPart>& parts, std::size_t n_images) {
  return std::ranges::all_of(parts, [&](const PromptPart& part) {
    const auto* place = std::get_if<MediaPlace>(&part);
    return place == nullptr || place->image_index < n_images;
  });
}

std::size_t count_images(std::span<const Message> messages) {
  std::size_t n = 0;
  for (const Message& message : messages) {
    n += static_cast<std::size_t>(std::ranges::count_if(
        message.parts, [](const auto& part) { return std::holds_alternative<ImagePart>(part); }));
  }
  return n;
}

/// Whether sizes and counts belong together, so that everybody may index by them.
bool is_consistent(const Prompt& prompt, std::size_t n_images) {
  if (prompt.images.size() != n_images || prompt.n_positions < 0) return false;
  std::int64_t n_text = 0;
  std::int64_t n_visual = 0;
  for (const Segment& segment : prompt.segments) {
    if (const auto* text = std::get_if<TextSegment>(&segment)) {
      n_text += static_cast<std::int64_t>(text->tokens.size());
      continue;
    }
    const auto& visual = std::get<VisualSegment>(segment);
    n_visual += visual.n_tokens;
    if (visual.image_index >= n_images || visual.n_tokens < 1 ||
        visual.positions.size() != static_cast<std::size_t>(visual.n_tokens)) {
      return false;
    }
  }
  return n_text == prompt.n_text_tokens && n_visual == prompt.n_visual_tokens;
}

class RemoteModel final : public Model {
 public:
  explicit RemoteModel(std::shared_ptr<EngineProcess> process) : process_(std::move(process)) {}

  const ModelInfo& info() const override { return process_->facts().model; }

  Result<void> wait_until_ready(const ShouldStop& stop) const override {
    return process_->wait_until_ready(stop);
  }

  Result<std::vector<PromptPart>> apply_chat_template(
      std::span<const Message> messages) const override {
    TSR_ASSIGN_OR_RETURN(auto parts, (call<std::vector<PromptPart>>(
                                         Call::kApplyChatTemplate,
                                         std::vector<Message>(messages.begin(), messages.end()))));
    if (!names_known_images(parts, count_images(messages))) return bad_answer();
    return parts;
  }

  Result<Prompt> tokenize(std::span<const PromptPart> parts,
                          std::span<const ImageInput> images) const override {
    TSR_ASSIGN_OR_RETURN(
        Prompt prompt, call<Prompt>(Call::kTokenize, TokenizeCall{{parts.begin(), parts.end()},
                                                                  {images.begin(), images.end()}}));
    if (!is_consistent(prompt, images.size())) return bad_answer();
    return prompt;
  }

  Result<std::vector<std::unique_ptr<PreparedTile>>> prepare(const Image& image) const override {
    const auto life = process_->connection();
    if (life == nullptr) return engine_lost_error();
    const auto set = std::make_shared<const TileSet>(life, life->new_number());
    const PrepareCall arguments{life->take_dropped_sets(), set->number, image};
    TSR_ASSIGN_OR_RETURN(const auto n_tokens,
                         life->call_model<std::vector<int>>(Call::kPrepare, arguments));
    std::vector<std::unique_ptr<PreparedTile>> tiles;
    for (const int n : n_tokens) {
      if (n < 1) return bad_answer();
      tiles.push_back(std::make_unique<RemoteTile>(set, tiles.size(), n));
    }
    return tiles;
  }

  std::string piece(TokenId token) const override {
    const auto& pieces = process_->facts().pieces;
    const auto index = static_cast<std::size_t>(token);
    return token >= 0 && index < pieces.size() ? pieces[index] : std::string();
  }

  Result<std::unique_ptr<Sampler>> make_sampler(const SamplerOptions& options) const override {
    const auto life = process_->connection();
    if (life == nullptr) return engine_lost_error();
    auto sampler = std::make_unique<RemoteSampler>(life, life->new_number());
    TSR_RETURN_IF_ERROR(
        life->call_model<bool>(Call::kMakeSampler, MakeSamplerCall{sampler->number, options}));
    return std::unique_ptr<Sampler>(std::move(sampler));
  }

 private:
  template <typename T, typename Arguments>
  Result<T> call(Call call, const Arguments& arguments) const {
    const auto life = process_->connection();
    if (life == nullptr) return engine_lost_error();
    return life->call_model<T>(call, arguments);
  }

  const std::shared_ptr<EngineProcess> process_;
};

class RemoteEncoder final : public Encoder {
 public:
  explicit RemoteEncoder(std::shared_ptr<EngineProcess> process) : process_(std::move(process)) {}

  Result<Embedding> encode(const PreparedTile& tile, const ShouldStop& stop) override {
    const PreparedTile* const tiles[] = {&tile};
    TSR_ASSIGN_OR_RETURN(auto embeddings, encode_batch(tiles, stop));
    return std::move(embeddings.front());
  }

  bool takes_batches() const override { return process_->facts().takes_batches; }

  Result<std::vector<Embedding>> encode_batch(std::span<const PreparedTile* const> tiles,
                                              const ShouldStop& stop) override {
    const auto life = process_->connection();
    if (life == nullptr) return engine_lost_error();
    EncodeCall arguments;
    for (const PreparedTile* tile : tiles) {
      const auto& remote = static_cast<const RemoteTile&>(*tile);
      if (remote.set->life != life) return engine_lost_error();
      arguments.tiles.push_back({remote.set->number, remote.index});
    }
    arguments.dropped_sets = life->take_dropped_sets();
    TSR_ASSIGN_OR_RETURN(auto embeddings,
                         life->call_encoder<std::vector<Embedding>>(arguments, stop));
    if (embeddings.size() != tiles.size()) return bad_answer();
    const int row_width = process_->facts().model.embedding_row_width;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const Embedding& embedding = embeddings[i];
      if (embedding.n_tokens != tiles[i]->n_tokens() || embedding.row_width != row_width ||
          embedding.rows.size() !=
              static_cast<std::size_t>(embedding.n_tokens) * static_cast<std::size_t>(row_width)) {
        return bad_answer();
      }
    }
    return embeddings;
  }

 private:
  const std::shared_ptr<EngineProcess> process_;
};

}  // namespace

LoadedModel attach(std::shared_ptr<EngineProcess> process) {
  LoadedModel loaded;
  if (process->facts().has_encoder) loaded.encoder = std::make_unique<RemoteEncoder>(process);
  loaded.executor = std::make_unique<RemoteExecutor>(process);
  loaded.build = process->facts().build;
  loaded.model = std::make_shared<RemoteModel>(std::move(process));
  return loaded;
}

}  // namespace tessera::runtime::remote
