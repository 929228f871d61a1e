#include "tidy/include_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "tidy/source_text.h"

namespace tessera::tidy {
namespace {

constexpr std::string_view kLayersPath = "src/layers.txt";

// What exists for tests alone; their folders' libraries are linked to tests only.
constexpr std::array<std::string_view, 4> kTestSupportFolders{
    "runtime/fake", "media/testing", "media/heif/testing", "media/video/testing"};

struct Library {
  std::string_view name;
  std::vector<std::string_view> headers;  // "x.h" = that header, "x/" or "x-" = everything below
  std::vector<std::string_view> places;   // prefixes of paths
};

// tests/golden compares answers with those of the pinned llama.cpp's own program, which its
// reference/ records: it reads pictures and JSON lines without any code of ours.
const std::vector<Library>& libraries() {
  static const std::vector<Library> kLibraries{
      {"llama.cpp",
       {"llama.h", "llama-", "ggml.h", "ggml-", "gguf.h", "mtmd.h", "mtmd-", "clip.h", "common.h",
        "chat.h", "chat-", "sampling.h", "json-schema-to-grammar.h", "jinja/"},
       {"src/runtime/llama/", "tests/golden/reference/"}},
      {"nlohmann-json", {"nlohmann/"}, {"src/api/", "src/cli/", "tests/golden/"}},
      {"Boost", {"boost/"}, {"src/api/"}},
      {"codecs",
       {"jpeglib.h", "jerror.h", "turbojpeg.h", "png.h", "webp/", "gif_lib.h", "avif/", "lcms2.h"},
       {"src/media/", "tests/golden/", "bench/"}},
      {"libav", {"libavcodec/", "libavformat/", "libavutil/", "libswscale/"}, {"src/media/video/"}},
      {"libheif", {"libheif/", "libde265/"}, {"src/media/heif/"}},
      {"CLI11", {"CLI/"}, {"src/cli/"}},
      {"toml++", {"toml++/", "toml.hpp"}, {"src/cli/"}},
      {"prometheus-cpp", {"prometheus/"}, {"src/metrics/"}},
      {"libcurl", {"curl/"}, {"src/fetch/"}},
      {"libseccomp", {"seccomp.h"}, {"src/sandbox/"}},
      {"OpenSSL",
       {"openssl/"},
       {"src/admission/", "src/cache/", "src/media/quarantine", "src/fetch/test_",
        "src/fetch/tls_test_"}},
      {"spdlog", {"spdlog/"}, {"src/core/log"}},
  };
  return kLibraries;
}

bool is_header_of(const Library& library, std::string_view include) {
  return std::ranges::any_of(library.headers, [include](std::string_view header) {
    const bool is_prefix = header.ends_with('/') || header.ends_with('-');
    return is_prefix ? include.starts_with(header) : include == header;
  });
}

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash));
}

/// Folders that can be reached from `folder`, found by depth-first search.
void reach(const Layers& layers, const std::string& folder, std::set<std::string>& seen) {
  const auto row = layers.find(folder);
  if (row == layers.end()) return;
  for (const std::string& next : row->second) {
    if (seen.insert(next).second) reach(layers, next, seen);
  }
}

}  // namespace

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> includes;
  int line_number = 0;
  for (std::string_view line : lines_of(text)) {
    ++line_number;
    if (!line.starts_with("#include ")) continue;
    const std::size_t open = line.find_first_of("\"<");
    if (open == std::string_view::npos) continue;
    const bool quoted = line[open] == '"';
    const std::size_t close = line.find(quoted ? '"' : '>', open + 1);
    if (close == std::string_view::npos) continue;
    includes.push_back({std::string(line.substr(open + 1, close - open - 1)), quoted, line_number});
  }
  return includes;
}

Layers parse_layers(std::string_view text, Findings& findings) {
  Layers layers;
  std::map<std::string, int> line_of;
  const auto report = [&findings](int line, std::string message) {
    findings.push_back({std::string(kLayersPath), line, std::move(message)});
  };
  int line_number = 0;
  for (std::string_view line : lines_of(text)) {
    ++line_number;
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      report(line_number, "no \"folder: folders\"");
      continue;
    }
    const std::string folder(line.substr(0, colon));
    if (!line_of.emplace(folder, line_number).second) report(line_number, folder + " twice");
    std::istringstream words{std::string(line.substr(colon + 1))};
    for (std::string word; words >> word;) layers[folder].insert(word);
    layers[folder];
  }
  for (const auto& [folder, allowed] : layers) {
    for (const std::string& other : allowed) {
      if (!layers.contains(other)) report(line_of[folder], other + " is declared nowhere");
    }
    std::set<std::string> reachable;
    reach(layers, folder, reachable);
    if (reachable.contains(folder)) report(line_of[folder], folder + " reaches itself");
  }
  return layers;
}

std::string folder_of(std::string_view path) {
  if (!path.starts_with("src/")) return "";
  const std::string directory = directory_of(path);
  return directory.size() > 4 ? directory.substr(4) : "";
}

Findings check_layers(const SourceFile& file, const Layers& layers) {
  Findings findings;
  const std::string folder = folder_of(file.path);
  const auto row = layers.find(folder);
  if (!is_cpp(file.path) || row == layers.end()) return findings;
  for (const Include& include : includes_of(file.text)) {
    if (!include.quoted) continue;
    const std::string target = directory_of(include.path);
    const bool test_support =
        (is_test(file.path) || is_test_header(file.path)) &&
        std::ranges::find(kTestSupportFolders, target) != kTestSupportFolders.end();
    if (target == folder || row->second.contains(target) || test_support) continue;
    if (target.empty()) {
      findings.push_back(
          {file.path, include.line,
           "include \"" + include.path + "\" from the root of src/, with its folder"});
    } else if (layers.contains(target)) {
      findings.push_back(
          {file.path, include.line, folder + " may not include " + target + " (src/layers.txt)"});
    }
  }
  return findings;
}

Findings check_third_party(const SourceFile& file) {
  Findings findings;
  if (!is_cpp(file.path)) return findings;
  for (const Include& include : includes_of(file.text)) {
    for (const Library& library : libraries()) {
      if (!is_header_of(library, include.path)) continue;
      const bool at_home = std::ranges::any_of(
          library.places, [&file](std::string_view place) { return file.path.starts_with(place); });
      if (at_home) continue;
      std::string places;
      for (std::string_view place : library.places) places += " " + std::string(place);
      findings.push_back(
          {file.path, include.line, std::string(library.name) + " headers belong in" + places});
    }
  }
  return findings;
}

Findings check_folders(const std::vector<SourceFile>& files, const Layers& layers) {
  Findings findings;
  std::set<std::string> folders;
  for (const SourceFile& file : files) {
    if (is_cpp(file.path) && file.path.starts_with("src/")) folders.insert(folder_of(file.path));
  }
  for (const std::string& folder : folders) {
    if (!layers.contains(folder)) {
      findings.push_back({"src/" + folder, 0, "has no line in src/layers.txt"});
    }
  }
  for (const auto& [folder, allowed] : layers) {
    if (!folders.contains(folder)) {
      findings.push_back({std::string(kLayersPath), 0, folder + " has no sources"});
    }
  }
  return findings;
}

Findings check_orphan_headers(const std::vector<SourceFile>& files) {
  std::set<std::string> included;
  for (const SourceFile& file : files) {
    if (!is_cpp(file.path)) continue;
    for (const Include& include : includes_of(file.text)) included.insert(include.path);
  }
  Findings findings;
  for (const SourceFile& file : files) {
    if (!is_header(file.path)) continue;
    const bool known = std::ranges::any_of(included, [&file](const std::string& include) {
      return file.path == include || file.path.ends_with("/" + include);
    });
    if (!known) findings.push_back({file.path, 0, "nobody includes this header"});
  }
  return findings;
}

}  // namespace tessera::tidy
