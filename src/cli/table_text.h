// Pieces of the tables that commands print to a terminal. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::cli {

/// "1 image", "2 images".
std::string counted(std::int64_t n, const std::string& singular);

/// `text` at the right or left end of `width` columns. One byte a column: ASCII only.
std::string right_aligned(const std::string& text, std::size_t width);
std::string left_aligned(const std::string& text, std::size_t width);

/// A number with `decimals` digits after the point.
std::string decimal(double value, int decimals);

/// A horizontal line of `width` columns.
std::string rule(std::size_t width);

/// A horizontal bar, to an eighth of a column.
/// @param fraction  0 … 1 of `width` columns; anything above 0 shows at least the thinnest bar
std::string bar(double fraction, std::size_t width);

/// Three significant digits and a decimal prefix: "12.3 GFLOP"; "-" for 0.
std::string with_prefix(double value, const std::string& unit);

/// Three significant digits and a binary prefix: "12.3 MiB"; "-" for 0.
std::string bytes_text(double bytes);

}  // namespace tessera::cli
