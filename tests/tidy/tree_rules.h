// Rules that need more than one file: tests beside sources, documents that name what exists, large
// files. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/finding.h"

namespace tessera::tidy {

/// Every src/**/x.cpp has an x_test.cpp beside it.
Findings check_neighbour_tests(const std::vector<SourceFile>& files);

/// Names in backticks that look like our types, functions or files exist.
/// @param known  every identifier in the code and the strings of src/
/// @param paths  every file
Findings check_documented_names(const SourceFile& document,
                                const std::set<std::string, std::less<>>& known,
                                const std::set<std::string, std::less<>>& paths);

/// Every reason that make_error() is given in `file` stands in the text of docs/errors.md.
Findings check_documented_reasons(const SourceFile& file, std::string_view errors_document);

/// Relative links of a Markdown file lead to files or folders of the tree.
Findings check_links(const SourceFile& document, const std::set<std::string, std::less<>>& paths);

/// Nothing large in git, except models.
Findings check_blob(std::string_view path, std::uintmax_t size_bytes);

/// Identifiers in code and strings of the files under src/.
std::set<std::string, std::less<>> known_identifiers(const std::vector<SourceFile>& files);

}  // namespace tessera::tidy
