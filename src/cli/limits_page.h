// docs/limits.md: every ceiling with its default, its refusal, who may lower it, and why it is what
// it is. Printed from the setting table and from admission's list; a test compares the file.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cli {

/// The reason (`error.code`) of a refusal at this limit.
/// @param key  of the setting table, "limits.…"; empty result = a limit that the page forgot
std::string_view refusal_of(std::string_view key);

/// The text of docs/limits.md.
std::string limits_markdown();

}  // namespace tessera::cli
