// Words that mean something else here, and texts that do not belong into a tree that speaks only of
// itself. Pure.
#pragma once

#include "tidy/finding.h"

namespace tessera::tidy {

/// Identifiers and comments use the words of docs/glossary.md.
Findings check_words(const SourceFile& file);

/// Folders for leftovers: utils.h, helpers.cpp, misc/.
Findings check_file_name(const SourceFile& file);

/// Unfinished work names its issue.
Findings check_todos(const SourceFile& file);

/// No path that exists on one machine only.
Findings check_absolute_paths(const SourceFile& file);

/// No package registry by its host name: lock files pin, clients know their registry.
Findings check_registry_hosts(const SourceFile& file);

}  // namespace tessera::tidy
