// Typed access to the fields of a parsed body. Every getter knows the field's path, so that each
// error names it.
//
// Included only by the files that read requests: nothing else sees the JSON library.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace tessera::api {

/// Keeps the order of members: the properties of a JSON schema are generated in it.
using Json = nlohmann::ordered_json;

/// A value and where it stands. Borrowed from the document.
/// @thread the reader's
class Field {
 public:
  Field(const Json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const Json& json() const { return *value_; }
  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }
  bool is_string() const { return value_->is_string(); }
  std::size_t size() const { return value_->size(); }

  /// A member that is there and not null. This value must be an object.
  std::optional<Field> find(std::string_view key) const;
  /// As find(), but the member must be there.
  Result<Field> require(std::string_view key) const;
  /// An element of an array, i < size().
  Field at(std::size_t i) const;

  Result<std::string> string() const;
  Result<bool> boolean() const;
  /// A whole number; one written as 1.0 or 1e3 is none.
  Result<std::int64_t> integer(std::int64_t min,
                               std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  Result<double> number() const;
  Result<void> expect_object() const;
  Result<void> expect_array() const;
  /// An object of ours: a misspelt member must not look as if it were obeyed. The member itself is
  /// not repeated in the error.
  Result<void> expect_members(std::initializer_list<std::string_view> known) const;

  /// "'n' must be an integer, not a string"
  Error wrong_type(std::string_view expected) const;
  /// "'n' must be between 1 and 4"
  Error wrong_value(std::string_view expected) const;
  /// The field means something that this server cannot do.
  Error unsupported(std::string_view what) const;

 private:
  const Json* value_;
  std::string path_;
};

/// @errors  invalid_argument (invalid_utf8, invalid_json with the byte)
Result<Json> parse_json(const std::string& text);

}  // namespace tessera::api
