// Bounds on a client's JSON schema. llama-common turns a schema into a grammar in time that grows
// with the cube of its properties, some patterns make a grammar that takes minutes for a token, and
// the grammar parser prints what it refuses: a client must reach none of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.h"

class common_json;  // NOLINT(readability-identifier-naming): llama-common's

namespace tessera::runtime::llama {

// 100 properties take 0.1 s, 1000 take a minute.
inline constexpr std::int64_t kSchemaPropertiesMax = 100;  // over all objects
inline constexpr std::int64_t kSchemaEnumMax = 500;        // values, over all enumerations
inline constexpr std::size_t kSchemaDepthMax = 32;         // OpenAI allows 10 levels of objects
inline constexpr std::int64_t kSchemaBytesMax = std::int64_t{16} * 1024;
inline constexpr std::int64_t kSchemaPatternBytesMax = 128;
// The library's own limit is 2000 for one repetition; each repetition is a rule.
inline constexpr std::int64_t kSchemaRepetitionsMax = 1900;  // minItems, maxLength, …: their sum

/// @errors  invalid_argument (json_schema_not_supported, with the value and the limit)
Result<void> check_schema_bytes(std::size_t n_bytes);

/// Walks the whole schema. Refuses references to other documents, and patterns that repeat a group:
/// their grammars grow without bound.
/// @errors  as above
Result<void> check_schema(const common_json& schema);

}  // namespace tessera::runtime::llama
