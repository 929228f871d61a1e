// Values as bytes, for the socket between the server and its engine process. Both come from one
// build on one machine, so numbers stand as they are in memory.
//
// One function says for a type what it consists of, for both directions:
//
//   void pass(auto& parcel, Of<ImageSize> auto& size) { parcel(size.width, size.height); }
//
// @thread one at a time
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/result.h"

namespace tessera {

/// `const U` when written, `U` when read.
template <typename T, typename U>
concept Of = std::same_as<std::remove_const_t<T>, U>;

}  // namespace tessera

namespace tessera::runtime::remote {

template <typename T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T>;
template <typename T, std::size_t n>
inline constexpr bool kIsPlain<std::array<T, n>> = kIsPlain<T>;

class ParcelWriter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void put_bytes(const void* data, std::size_t n) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + n);
  }
  void put_count(std::size_t n) {
    const auto count = static_cast<std::uint64_t>(n);
    put_bytes(&count, sizeof(count));
  }

  template <typename T>
  void put(const T& value) {
    if constexpr (kIsPlain<T>) {
      put_bytes(&value, sizeof(value));
    } else if constexpr (std::is_enum_v<T>) {
      put(static_cast<std::int32_t>(value));
    } else {
      pass(*this, value);
    }
  }
  void put(const std::string& text) { put(std::span<const char>(text)); }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(std::span<const T>(values));
  }
  template <typename T>
  void put(const std::span<T>& values) {
    put_count(values.size());
    if constexpr (kIsPlain<std::remove_const_t<T>>) {
      put_bytes(values.data(), values.size_bytes());
    } else {
      for (const auto& value : values) put(value);
    }
  }
  template <typename T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename... T>
  void put(const std::variant<T...>& value) {
    put(static_cast<std::uint32_t>(value.index()));
    std::visit([this](const auto& held) { this->put(held); }, value);
  }
  template <typename T>
  void put(const Result<T>& result) {
    put(result.has_value());
    if (!result) {
      put(result.error());
    } else if constexpr (!std::is_void_v<T>) {
      put(*result);
    }
  }
  template <typename Tag, typename Rep>
  void put(const Id<Tag, Rep>& id) {
    put(id.value);
  }
  template <typename Rep, typename Period>
  void put(const std::chrono::duration<Rep, Period>& duration) {
    put(static_cast<std::int64_t>(duration.count()));
  }

  std::vector<std::byte> bytes_;
};

}  // namespace tessera::runtime::remote
