// The model of the engine process, as the stages see it: runtime::Model, Encoder and Executor by
// calls (messages.h). A call that finds no engine, or loses it, is engine_lost at once; nobody
// waits here but in wait_until_ready().
//
// What the engine says is checked as far as anybody relies on it.
#pragma once

#include <memory>

#include "runtime/remote/engine_process.h"

namespace tessera::runtime::remote {

/// The three objects of a running engine; they keep it.
LoadedModel attach(std::shared_ptr<EngineProcess> process);

/// Tiles of one image in the engine, which lets go of them with the last.
struct TileSet {
  TileSet(std::shared_ptr<Connection> life, std::uint64_t number)
      : life(std::move(life)), number(number) {}
  TileSet(const TileSet&) = delete;
  TileSet& operator=(const TileSet&) = delete;
  ~TileSet() { life->drop_set(number); }

  const std::shared_ptr<Connection> life;
  const std::uint64_t number;
};

struct RemoteTile final : PreparedTile {
  RemoteTile(std::shared_ptr<const TileSet> set, std::size_t index, int n_tokens)
      : set(std::move(set)), index(index), n(n_tokens) {}
  int n_tokens() const override { return n; }

  const std::shared_ptr<const TileSet> set;
  const std::size_t index;  // in the set
  const int n;
};

struct RemoteSampler final : Sampler {
  RemoteSampler(std::shared_ptr<Connection> life, std::uint64_t number)
      : life(std::move(life)), number(number) {}
  ~RemoteSampler() override { life->drop_sampler(number); }

  const std::shared_ptr<Connection> life;
  const std::uint64_t number;
};

}  // namespace tessera::runtime::remote
