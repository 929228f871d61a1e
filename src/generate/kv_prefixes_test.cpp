#include "generate/kv_prefixes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

#include "generate/prompt_key.h"

namespace tessera::generate {
namespace {

/// Counts cells as a real cache does, and knows what each holds: the tokens up to it.
class CellExecutor final : public runtime::Executor {
 public:
  int n_sequences_max() const override { return static_cast<int>(sequences_.size()); }
  int n_kv_cells() const override { return 10'000; }
  int n_rows_max() const override { return 64; }
  bool can_mix() const override { return true; }
  runtime::CallResult decode(std::span<const runtime::TokenRow>,
                             std::span<const runtime::VisualRows>,
                             const runtime::ShouldStop&) override {
    return {runtime::DecodeStatus::kOk, {}};
  }
  bool can_share() const override { return true; }
  void share(SequenceId from, SequenceId to, const runtime::KvRange& range) override {
    const auto& source = of(from);
    auto& target = of(to);
    ASSERT_EQ(static_cast<int>(target.size()), range.first_token);
    ASSERT_LE(range.first_token + range.n_tokens, static_cast<int>(source.size()));
    target.insert(target.end(), source.begin() + range.first_token,
                  source.begin() + range.first_token + range.n_tokens);
  }
  void remove(SequenceId sequence) override { of(sequence).clear(); }
  bool set_aside(SequenceId) override { return false; }
  bool bring_back(SequenceId) override { return false; }
  int n_kv_cells_used() const override {
    std::set<const std::string*> cells;
    for (const auto& sequence : sequences_) {
      for (const auto& cell : sequence) cells.insert(cell.get());
    }
    return static_cast<int>(cells.size());
  }

  /// Computes a text from the end of what the sequence has.
  void compute(SequenceId sequence, const std::string& text) {
    auto& cells = of(sequence);
    for (std::size_t i = cells.size(); i < text.size(); ++i) {
      cells.push_back(std::make_shared<const std::string>(text.substr(0, i + 1)));
    }
  }
  std::string text_of(SequenceId sequence) {
    return of(sequence).empty() ? "" : *of(sequence).back();
  }

 private:
  using Cells = std::vector<std::shared_ptr<const std::string>>;
  Cells& of(SequenceId id) { return sequences_[static_cast<std::size_t>(id.value)]; }

  std::vector<Cells> sequences_ = std::vector<Cells>(12);
};

/// A prompt of text alone, a token a character.
PromptKey key(const std::string& text, std::uint32_t tenant = 1) {
  PromptKey key;
  key.tenant = TenantId{tenant};
  key.shares = true;
  PromptPiece piece;
  for (const char c : text) piece.tokens.push_back(c);
  piece.n_tokens = static_cast<int>(text.size());
  piece.end = piece.n_tokens;
  key.pieces.push_back(piece);
  return key;
}

std::string longer(const std::string& text) {
  return std::string(kKeptTokensMin, '.') + text;
}

constexpr SequenceId kRunning{0};

class KvPrefixesTest : public testing::Test {
 protected:
  /// A request: takes what is kept, computes the rest, keeps it, ends.
  /// @return  tokens that it did not compute
  int ask(const std::string& text, std::uint32_t tenant = 1) {
    const PromptKey prompt = key(text, tenant);
    const PromptPlace place = prefixes_.give(prompt, kRunning);
    EXPECT_EQ(executor_.text_of(kRunning),
              text.substr(0, static_cast<std::size_t>(place.n_tokens)));
    EXPECT_EQ(place.position, place.n_tokens);
    executor_.compute(kRunning, text);
    executor_.compute(kRunning, text + "answer");
    prefixes_.keep(prompt, kRunning);
    executor_.remove(kRunning);
    EXPECT_EQ(executor_.n_kv_cells_used(), prefixes_.n_cells());
    return place.n_tokens;
  }

  CellExecutor executor_;
  KvPrefixes prefixes_{executor_, {SequenceId{8}, 4, 200}};
};

TEST_F(KvPrefixesTest, GivesTheLongestBeginning) {
  EXPECT_EQ(ask(longer("image one")), 0);
  EXPECT_EQ(ask(longer("image two")), kKeptTokensMin + 6);
  EXPECT_EQ(ask(longer("image two?")), kKeptTokensMin + 9);
  EXPECT_EQ(prefixes_.n_prompts(), 2U) << "the third took the place of its own beginning";
}

TEST_F(KvPrefixesTest, TheLastTokenIsAlwaysComputed) {
  ask(longer("same"));
  EXPECT_EQ(ask(longer("same")), kKeptTokensMin + 3);
  EXPECT_EQ(prefixes_.n_prompts(), 1U);
  EXPECT_EQ(ask(longer("sam")), kKeptTokensMin + 2);
  EXPECT_EQ(prefixes_.n_prompts(), 1U) << "a beginning of what is there";
}

TEST_F(KvPrefixesTest, WhatTwoHaveInCommonIsThereOnce) {
  ask(longer("one"));
  ask(longer("two"));
  ask(longer("three"));
  EXPECT_EQ(prefixes_.n_cells(), kKeptTokensMin + 3 + 3 + 4);
}

TEST_F(KvPrefixesTest, WhatTwoHaveComputedApartIsThereOnceWhenBothAreKept) {
  const std::vector<std::string> texts{longer("one"), longer("other"), longer("only")};
  for (int i = 0; i < 3; ++i) executor_.compute(SequenceId{i}, texts[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 3; ++i) {
    prefixes_.keep(key(texts[static_cast<std::size_t>(i)]), SequenceId{i});
  }
  for (int i = 0; i < 3; ++i) executor_.remove(SequenceId{i});

  EXPECT_EQ(prefixes_.n_cells(), kKeptTokensMin + 3 + 4 + 2) << "one, ther, ly";
  EXPECT_EQ(executor_.n_kv_cells_used(), prefixes_.n_cells());
}

TEST_F(KvPrefixesTest, TenantsNeverMeet) {
  ask(longer("secret"), 1);
  EXPECT_EQ(ask(longer("secret"), 2), 0);
  EXPECT_EQ(prefixes_.n_prompts(), 2U);

  prefixes_.forget(TenantId{1});
  EXPECT_EQ(ask(longer("secret"), 1), 0);
  EXPECT_EQ(ask(longer("secret"), 2), kKeptTokensMin + 5);
}

TEST_F(KvPrefixesTest, WhatWasUsedLongestAgoGoesFirst) {
  for (const char* text : {"a", "b", "c", "d"}) ask(longer(text));
  ask(longer("a"));
  ask(longer("e"));
  EXPECT_EQ(prefixes_.n_prompts(), 4U);
  EXPECT_EQ(prefixes_.longest(key(longer("a?"))).n_tokens, kKeptTokensMin + 1);
  EXPECT_EQ(prefixes_.longest(key(longer("b?"))).n_tokens, kKeptTokensMin) << "it went";
}

TEST_F(KvPrefixesTest, ShortAndHugePromptsAreNotKept) {
  ask("short");
  ask(std::string(201, 'x'));
  EXPECT_EQ(prefixes_.n_prompts(), 0U);
}

TEST_F(KvPrefixesTest, ShrinksToWhatIsAsked) {
  ask(std::string(100, 'a'));
  ask(std::string(90, 'b'));
  prefixes_.shrink_to(90);
  EXPECT_EQ(prefixes_.n_cells(), 90);
  EXPECT_EQ(prefixes_.longest(key(std::string(90, 'b'))).n_tokens, 89);
  prefixes_.shrink_to(0);
  EXPECT_EQ(executor_.n_kv_cells_used(), 0);
}

RC_GTEST_FIXTURE_PROP(KvPrefixesTest, EveryCellBelongsToTheTree, ()) {
  const auto n = *rc::gen::inRange(1, 30);
  for (int i = 0; i < n; ++i) {
    std::string text;
    // Few letters, so that many begin alike.
    const auto length = *rc::gen::inRange<std::size_t>(1, 5);
    for (std::size_t k = 0; k < length; ++k) {
      text += std::string(*rc::gen::inRange<std::size_t>(10, 40), *rc::gen::element('a', 'b'));
    }
    ask(text, *rc::gen::inRange<std::uint32_t>(1, 3));
    RC_ASSERT(prefixes_.n_cells() <= 200);
    if (*rc::gen::inRange(0, 10) == 0) prefixes_.forget(TenantId{1});
    RC_ASSERT(executor_.n_kv_cells_used() == prefixes_.n_cells());
  }
}

}  // namespace
}  // namespace tessera::generate
