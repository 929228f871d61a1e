#include "generate/prompt_key.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::generate {
namespace {

PromptPiece text_piece(const std::string& text, Position begin) {
  PromptPiece piece;
  for (const char c : text) piece.tokens.push_back(c);
  piece.n_tokens = static_cast<int>(text.size());
  piece.begin = begin;
  piece.end = begin + piece.n_tokens;
  return piece;
}

TEST(PromptKey, VisualSegmentsAreTheSameOrNot) {
  PromptKey one;
  one.tenant = TenantId{1};
  PromptPiece image;
  image.features.bytes[0] = 7;
  image.n_tokens = 64;
  image.begin = 6;
  image.end = 14;  // M-RoPE: fewer positions than tokens
  one.pieces = {text_piece("before", 0), image, text_piece("after", 14)};
  PromptKey other = one;

  other.pieces[2].tokens[2] = 'x';
  PromptPlace place = common_prefix(one, other);
  EXPECT_EQ(place.n_tokens, 6 + 64 + 2);
  EXPECT_EQ(place.piece, 2U);
  EXPECT_EQ(place.n_in_piece, 2);
  EXPECT_EQ(place.position, 16);

  other.pieces[1].features.bytes[0] = 8;
  place = common_prefix(one, other);
  EXPECT_EQ(place.n_tokens, 6);
  EXPECT_EQ(place.piece, 1U);
  EXPECT_EQ(place.position, 6);

  other.pieces[0].tokens.push_back('!');
  EXPECT_EQ(common_prefix(one, other).n_tokens, 6) << "its text goes on where the image comes";
  other.tenant = TenantId{2};
  EXPECT_EQ(common_prefix(one, other).n_tokens, 0);
}

}  // namespace
}  // namespace tessera::generate
