#include "runtime/remote/engine_server.h"

#include <pthread.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "runtime/remote/connection.h"
#include "runtime/remote/line.h"

namespace tessera::runtime::remote {
namespace {

Error bad_call() {
  return make_error(ErrorCode::kInternal, "internal_error",
                    "the engine process was called for something that it does not have");
}

/// What tells a file from another one that takes its name later.
std::vector<std::int64_t> stamp(const std::string& path) {
  struct stat file{};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return {};
  return {static_cast<std::int64_t>(file.st_dev), static_cast<std::int64_t>(file.st_ino),
          file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

/// Things of the server's, by their numbers.
/// @thread any
template <typename T>
class Shelf {
 public:
  void put(std::uint64_t number, T thing) {
    MutexLock lock(mutex_);
    things_[number] = std::make_shared<T>(std::move(thing));
  }
  /// Null when there is none. Stays as long as it is held.
  std::shared_ptr<T> find(std::uint64_t number) {
    MutexLock lock(mutex_);
    const auto found = things_.find(number);
    return found == things_.end() ? nullptr : found->second;
  }
  void drop(const std::vector<std::uint64_t>& numbers) {
    MutexLock lock(mutex_);
    for (const std::uint64_t number : numbers) things_.erase(number);
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> things_ TSR_GUARDED_BY(mutex_);
};

class EngineServer {
 public:
  explicit EngineServer(LoadedModel loaded) : loaded_(std::move(loaded)) {}

  Facts facts() const {
    Facts facts;
    facts.build = loaded_.build;
    facts.model = loaded_.model->info();
    for (TokenId id = 0; id < facts.model.n_vocabulary; ++id) {
      facts.pieces.push_back(loaded_.model->piece(id));
    }
    const Executor& executor = *loaded_.executor;
    facts.has_encoder = loaded_.encoder != nullptr;
    facts.takes_batches = facts.has_encoder && loaded_.encoder->takes_batches();
    facts.n_sequences_max = executor.n_sequences_max();
    facts.n_kv_cells = executor.n_kv_cells();
    facts.n_rows_max = executor.n_rows_max();
    facts.can_mix = executor.can_mix();
    facts.can_share = executor.can_share();
    return facts;
  }

  /// Until the server is gone.
  void serve(Line& line) {
    while (auto call = line.next_call()) {
      ParcelWriter answer;
      do_call(line, *call, answer);
      if (!line.answer(*call, answer)) return;
      // While the answer is on its way, and what the server makes of it.
      if (call->call == Call::kDecode) loaded_.executor->anticipate();
    }
  }

 private:
  void do_call(Line& line, const Line::Incoming& call, ParcelWriter& answer) {
    switch (call.call) {
      case Call::kApplyChatTemplate:
        return handle<std::vector<Message>>(call, answer, [&](const auto& messages) {
          return loaded_.model->apply_chat_template(messages);
        });
      case Call::kTokenize:
        return handle<TokenizeCall>(call, answer, [&](const TokenizeCall& text) {
          return loaded_.model->tokenize(text.parts, text.images);
        });
      case Call::kPrepare:
        return handle<PrepareCall>(call, answer, [&](const auto& image) { return prepare(image); });
      case Call::kMakeSampler:
        return handle<MakeSamplerCall>(call, answer,
                                       [&](const auto& wanted) { return make_sampler(wanted); });
      case Call::kEncode:
        return handle<EncodeCall>(call, answer,
                                  [&](const auto& tiles) { return encode(tiles, line); });
      case Call::kDecode:
        return handle<DecodeCall>(call, answer,
                                  [&](const auto& rows) { return decode(rows, line); });
      case Call::kSetAside:
        return handle<CopyCall>(call, answer, [&](const CopyCall& copy) -> Result<bool> {
          follow(copy.orders);
          return loaded_.executor->set_aside(copy.sequence);
        });
      case Call::kBringBack:
        return handle<CopyCall>(call, answer, [&](const CopyCall& copy) -> Result<bool> {
          follow(copy.orders);
          return loaded_.executor->bring_back(copy.sequence);
        });
      case Call::kDescribe:
      case Call::kLoad:
      case Call::kStop:
        answer(Result<bool>(bad_call()));
    }
  }

  template <typename Arguments, typename Do>
  static void handle(const Line::Incoming& call, ParcelWriter& answer, const Do& do_it) {
    using Answer = decltype(do_it(std::declval<const Arguments&>()));
    const auto arguments = call.parcel.read<Arguments>();
    answer(arguments ? do_it(*arguments) : Answer(bad_call()));
  }

  Result<std::vector<int>> prepare(const PrepareCall& call) {
    tile_sets_.drop(call.dropped_sets);
    TSR_ASSIGN_OR_RETURN(Tiles tiles, loaded_.model->prepare(call.image));
    std::vector<int> n_tokens;
    for (const auto& tile : tiles) n_tokens.push_back(tile->n_tokens());
    tile_sets_.put(call.set, std::move(tiles));
    return n_tokens;
  }

  Result<bool> make_sampler(const MakeSamplerCall& call) {
    TSR_ASSIGN_OR_RETURN(auto sampler, loaded_.model->make_sampler(call.options));
    samplers_.put(call.sampler, std::move(sampler));
    return true;
  }

  Result<std::vector<Embedding>> encode(const EncodeCall& call, Line& line) {
    tile_sets_.drop(call.dropped_sets);
    std::vector<std::shared_ptr<Tiles>> sets;  // keeps them meanwhile
    std::vector<const PreparedTile*> tiles;
    for (const TileName& name : call.tiles) {
      sets.push_back(tile_sets_.find(name.set));
      if (sets.back() == nullptr || name.tile >= sets.back()->size()) return bad_call();
      tiles.push_back((*sets.back())[name.tile].get());
    }
    if (loaded_.encoder == nullptr || tiles.empty()) return bad_call();
    const ShouldStop stop = [&line] { return line.stop_asked(); };
    if (tiles.size() > 1) return loaded_.encoder->encode_batch(tiles, stop);
    TSR_ASSIGN_OR_RETURN(Embedding embedding, loaded_.encoder->encode(*tiles.front(), stop));
    std::vector<Embedding> one;
    one.push_back(std::move(embedding));
    return one;
  }

  void follow(const std::vector<CellOrder>& orders) {
    for (const CellOrder& order : orders) {
      if (order.from == order.sequence) {
        loaded_.executor->remove(order.sequence);
      } else {
        loaded_.executor->share(order.from, order.sequence, order.range);
      }
    }
  }

  Result<CallResult> decode(const DecodeCall& call, Line& line) {
    samplers_.drop(call.dropped_samplers);
    follow(call.orders);
    std::vector<std::shared_ptr<std::unique_ptr<Sampler>>> samplers;  // keeps them meanwhile
    std::vector<TokenRow> tokens;
    for (const WireTokenRow& row : call.tokens) {
      tokens.push_back({row.sequence, row.token, row.position, nullptr});
      if (row.sampler == 0) continue;
      samplers.push_back(samplers_.find(row.sampler));
      if (samplers.back() == nullptr) return bad_call();
      tokens.back().sampler = samplers.back()->get();
    }
    std::vector<VisualRows> visual;
    for (const WireVisualRows& slice : call.visual) {
      visual.push_back({slice.sequence, slice.rows, slice.positions, slice.first_row,
                        slice.n_segment_rows, slice.non_causal});
    }
    return loaded_.executor->decode(tokens, visual, [&line] { return line.stop_asked(); });
  }

  using Tiles = std::vector<std::unique_ptr<PreparedTile>>;

  LoadedModel loaded_;
  Shelf<Tiles> tile_sets_;
  Shelf<std::unique_ptr<Sampler>> samplers_;
};

}  // namespace

void serve_engine(sandbox::Channel channel, const EngineRuntime& runtime) {
  Line control(std::move(channel));
  auto call = control.next_call();
  if (!call) std::_Exit(EXIT_FAILURE);
  if (call->call == Call::kDescribe) {
    ParcelWriter build;
    build(Result<std::string>(runtime.describe()));
    control.answer(*call, build);
    std::_Exit(EXIT_SUCCESS);
  }
  if (call->call != Call::kLoad || call->fds.size() != kLines) std::_Exit(EXIT_FAILURE);
  const auto options = call->parcel.read<LoadOptions>();
  if (!options) std::_Exit(EXIT_FAILURE);

  ParcelWriter answer;
  std::vector<std::int64_t> files = stamp(options->model_path);
  for (const std::int64_t part : stamp(options->mmproj_path)) files.push_back(part);
  auto loaded = runtime.load(*options);
  if (!loaded) {
    answer(Result<Facts>(std::move(loaded).error()));
    control.answer(*call, answer);
    std::_Exit(EXIT_SUCCESS);
  }
  EngineServer server(*std::move(loaded));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kLines; ++i) {
    Line line(sandbox::Channel(std::move(call->fds[i])));
    threads.emplace_back([&server, line = std::move(line)]() mutable { server.serve(line); });
    pthread_setname_np(threads.back().native_handle(),
                       i == 0 ? "encode" : (i == 1 ? "engine" : "model"));
  }
  Facts facts = server.facts();
  facts.files = std::move(files);
  answer(Result<Facts>(std::move(facts)));
  control.answer(*call, answer);
  // The server says nothing more here. A graph that runs would take seconds to end in order.
  while (control.next_call()) {
  }
  std::_Exit(EXIT_SUCCESS);
}

}  // namespace tessera::runtime::remote
