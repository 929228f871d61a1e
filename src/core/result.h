// Result<T>: a value or an Error. Member names are a subset of std::expected, so that a later
// toolchain can replace this file by an alias (docs/decisions/0002-result.md).
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "core/check.h"
#include "core/error.h"

namespace tessera {

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & {
    TSR_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    TSR_CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    TSR_CHECK(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    TSR_CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    TSR_CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { TSR_CHECK(has_value()); }

  const Error& error() const& {
    TSR_CHECK(!has_value());
    return *error_;
  }
  Error&& error() && {
    TSR_CHECK(!has_value());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace tessera

#define TSR_CONCAT_INNER(a, b) a##b
#define TSR_CONCAT(a, b) TSR_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Result) from the enclosing function, if it holds one.
#define TSR_RETURN_IF_ERROR(expression)                    \
  do {                                                     \
    auto tsr_result = (expression);                        \
    if (!tsr_result) return std::move(tsr_result).error(); \
  } while (false)

#define TSR_ASSIGN_OR_RETURN_INNER(name, target, expression) \
  auto name = (expression);                                  \
  if (!name) return std::move(name).error();                 \
  target = std::move(name).value()

/// Declares or assigns `target` from a Result, or returns its error from the enclosing function.
#define TSR_ASSIGN_OR_RETURN(target, expression) \
  TSR_ASSIGN_OR_RETURN_INNER(TSR_CONCAT(tsr_result_, __COUNTER__), target, expression)
