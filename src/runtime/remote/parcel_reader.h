// The other end of a ParcelWriter. It trusts nothing: a count beyond what is left, a value outside
// of an enum or a variant and bytes left over make it fail, and then everything it gives is blank.
// @thread one at a time
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "runtime/remote/parcel_writer.h"

namespace tessera::runtime::remote {

class ParcelReader {
 public:
  /// @param bytes  borrowed
  explicit ParcelReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename... T>
  void operator()(T&... values) {
    (take(values), ...);
  }

  /// Everything was there and valid, and nothing is left.
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  void take_bytes(void* to, std::size_t n) {
    if (n > rest_.size()) {
      fail();
      std::memset(to, 0, n);
      return;
    }
    if (n > 0) std::memcpy(to, rest_.data(), n);
    rest_ = rest_.subspan(n);
  }
  /// Of elements of which each takes at least so many bytes.
  std::size_t take_count(std::size_t element_bytes) {
    std::uint64_t count = 0;
    take_bytes(&count, sizeof(count));
    if (count <= rest_.size() / element_bytes) return static_cast<std::size_t>(count);
    fail();
    return 0;
  }
  void fail() {
    failed_ = true;
    rest_ = {};
  }

  template <typename T>
  static T blank() {
    return T{};
  }
  template <typename T>
    requires requires { typename T::value_type; } && std::constructible_from<T, Error>
  static T blank() {
    return T(Error{});
  }

  template <typename T>
  void take(T& value) {
    if constexpr (std::same_as<T, bool>) {
      std::uint8_t byte = 0;
      take_bytes(&byte, 1);
      value = byte != 0;
    } else if constexpr (kIsPlain<T>) {
      take_bytes(&value, sizeof(value));
    } else if constexpr (std::is_enum_v<T>) {
      std::int32_t number = 0;
      take(number);
      if (number < 0 || number > static_cast<std::int32_t>(last_value(T{}))) {
        fail();
        number = 0;
      }
      value = static_cast<T>(number);
    } else {
      pass(*this, value);
    }
  }
  void take(std::string& text) {
    text.resize(take_count(1));
    take_bytes(text.data(), text.size());
  }
  template <typename T>
  void take(std::vector<T>& values) {
    values.clear();
    if constexpr (kIsPlain<T>) {
      values.resize(take_count(sizeof(T)));
      take_bytes(values.data(), values.size() * sizeof(T));
    } else {
      for (std::size_t left = take_count(1); left > 0 && !failed_; --left) {
        values.push_back(blank<T>());
        take(values.back());
      }
    }
  }
  template <typename T>
  void take(std::optional<T>& value) {
    bool has_value = false;
    take(has_value);
    value.reset();
    if (has_value) take(value.emplace());
  }
  template <typename... T>
  void take(std::variant<T...>& value) {
    std::uint32_t index = 0;
    take(index);
    if (index >= sizeof...(T)) {
      fail();
      return;
    }
    take_alternative(value, index, std::index_sequence_for<T...>());
  }
  template <typename... T, std::size_t... i>
  void take_alternative(std::variant<T...>& value, std::size_t index,
                        std::index_sequence<i...> /*all*/) {
    ((index == i ? take(value.template emplace<i>()) : void()), ...);
  }
  template <typename T>
  void take(Result<T>& result) {
    bool has_value = false;
    take(has_value);
    if (!has_value) {
      Error error;
      take(error);
      result = std::move(error);
    } else if constexpr (std::is_void_v<T>) {
      result = {};
    } else {
      T value{};
      take(value);
      result = std::move(value);
    }
  }
  template <typename Tag, typename Rep>
  void take(Id<Tag, Rep>& id) {
    take(id.value);
  }
  template <typename Rep, typename Period>
  void take(std::chrono::duration<Rep, Period>& duration) {
    std::int64_t count = 0;
    take(count);
    duration = std::chrono::duration<Rep, Period>(static_cast<Rep>(count));
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

}  // namespace tessera::runtime::remote
