// Who may include whom: the layer table of src/ and the place of each third-party library. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/finding.h"

namespace tessera::tidy {

/// Folder of src/ → folders it may include, as in src/layers.txt.
using Layers = std::map<std::string, std::set<std::string>, std::less<>>;

struct Include {
  std::string path;
  bool quoted = false;
  int line = 0;
};

std::vector<Include> includes_of(std::string_view text);

/// Also findings about the table itself: a line that is none, a folder twice, a folder that nobody
/// declares, or a cycle.
Layers parse_layers(std::string_view text, Findings& findings);

/// "src/runtime/fake/x.h" → "runtime/fake"; empty outside src/.
std::string folder_of(std::string_view path);

/// Includes of src/ go only where the table says. Tests may also include test support.
Findings check_layers(const SourceFile& file, const Layers& layers);

/// Third-party headers only in their folder.
Findings check_third_party(const SourceFile& file);

/// Every folder of src/ with sources is in the table, and the other way round.
Findings check_folders(const std::vector<SourceFile>& files, const Layers& layers);

/// Every header is included by somebody.
Findings check_orphan_headers(const std::vector<SourceFile>& files);

}  // namespace tessera::tidy
