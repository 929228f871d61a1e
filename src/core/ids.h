// Ids are distinct types, so that a sequence can never be passed where a request is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tessera {

template <typename Tag, typename Rep>
struct Id {
  Rep value{};
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// One API call, unique within a process run; starts at 1.
using RequestId = Id<struct RequestTag, std::uint64_t>;

/// One token stream's place in the KV cache: 0 ≤ value < Executor::n_sequences_max(). Reused.
using SequenceId = Id<struct SequenceTag, std::int32_t>;

/// Who pays and who may share; derived from the API key, never from the body. 0 = no key file.
using TenantId = Id<struct TenantTag, std::uint32_t>;

}  // namespace tessera

template <typename Tag, typename Rep>
struct std::hash<tessera::Id<Tag, Rep>> {
  std::size_t operator()(const tessera::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
