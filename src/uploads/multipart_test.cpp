#include "uploads/multipart.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <vector>

namespace tessera::uploads {
namespace {

constexpr std::size_t kBytesMax = 1000;

// File bytes that look like delimiters for as long as they can.
const std::string kTricky = "\r\n--\r\n--B\r\r\n--BOUND\r\n-\r\n--BOUNDAR";

std::string part(std::string_view headers, std::string_view body) {
  return "--BOUNDARY\r\n" + std::string(headers) + "\r\n\r\n" + std::string(body) + "\r\n";
}

std::string file_part(std::string_view body) {
  return part(
      "Content-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n"
      "Content-Type: image/png",
      body);
}

std::string purpose_part(std::string_view body) {
  return part("Content-Disposition: form-data; name=\"purpose\"", body);
}

const std::string kClose = "--BOUNDARY--\r\n";

/// What the parser says of a body that comes in these pieces: file|purpose, or the reason.
std::string parse(const std::vector<std::string_view>& pieces) {
  MultipartParser parser("BOUNDARY", kBytesMax);
  for (const std::string_view piece : pieces) {
    const auto fed = parser.feed(piece);
    if (!fed) return fed.error().reason;
  }
  const auto form = parser.finish();
  if (!form) return form.error().reason;
  std::string bytes(form->file.size_bytes, '\0');
  EXPECT_EQ(::read(form->file.fd.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  return bytes + "|" + form->purpose;
}

std::string parse(const std::string& body) {
  return parse(std::vector<std::string_view>{body});
}

TEST(Multipart, FileAndPurposeAreFoundInAnyOrder) {
  EXPECT_EQ(parse(purpose_part("vision") + file_part("PNG") + kClose), "PNG|vision");
  EXPECT_EQ(parse(file_part("PNG") + purpose_part("vision") + kClose), "PNG|vision");
  EXPECT_EQ(parse(file_part("PNG") + kClose), "PNG|");
  EXPECT_EQ(parse(file_part(kTricky) + kClose), kTricky + "|");
}

TEST(Multipart, OtherFieldsAndWhatFollowsTheEndAreIgnored) {
  const std::string other = part("Content-Disposition: form-data; name=\"expires\"", "3600");
  EXPECT_EQ(parse(other + file_part("PNG") + kClose + "whatever\r\n--BOUNDARY\r\n"), "PNG|");
}

TEST(Multipart, EverySplitOfABodyInTwoGivesTheSame) {
  const std::string body = purpose_part("vision") + file_part(kTricky) + kClose;
  for (std::size_t i = 0; i <= body.size(); ++i) {
    const std::string_view view = body;
    EXPECT_EQ(parse({view.substr(0, i), view.substr(i)}), kTricky + "|vision") << i;
  }
}

TEST(Multipart, ABodyInSingleBytesGivesTheSame) {
  const std::string body = purpose_part("vision") + file_part(kTricky) + kClose;
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < body.size(); ++i) {
    pieces.push_back(std::string_view(body).substr(i, 1));
  }
  EXPECT_EQ(parse(pieces), kTricky + "|vision");
}

TEST(Multipart, EverySplitOfABrokenBodyGivesTheSameError) {
  const std::string body = purpose_part("vision") + part("no header", "x") + kClose;
  for (std::size_t i = 0; i <= body.size(); ++i) {
    const std::string_view view = body;
    EXPECT_EQ(parse({view.substr(0, i), view.substr(i)}), "invalid_multipart") << i;
  }
}

TEST(Multipart, ABodyThatEndsEarlyIsAnErrorWhereverItEnds) {
  const std::string body = file_part("PNG") + "--BOUNDARY--";
  for (std::size_t i = 0; i < body.size(); ++i) {
    EXPECT_EQ(parse(body.substr(0, i)), "invalid_multipart") << i;
  }
  EXPECT_EQ(parse(body), "PNG|");
}

TEST(Multipart, BrokenBodiesAreRefused) {
  for (const std::string& body : {
           std::string("preamble\r\n") + file_part("PNG") + kClose,
           file_part("PNG") + file_part("PNG") + kClose,
           file_part("PNG") + purpose_part("a") + purpose_part("b") + kClose,
           std::string("--BOUNDARYx\r\n") + kClose,
           std::string("--BOUNDARY \r\n\r\n\r\n") + kClose,
           part("", "x") + kClose,
           std::string("--BOUNDARY\r\n\r\nx\r\n") + kClose,
       }) {
    EXPECT_EQ(parse(body), "invalid_multipart") << body;
  }
  EXPECT_EQ(parse(kClose), "missing_field");
  EXPECT_EQ(parse(file_part("") + kClose), "upload_empty");
}

TEST(Multipart, SizesAreBoundedWhileTheyArrive) {
  EXPECT_EQ(parse(file_part(std::string(kBytesMax, 'x')) + kClose),
            std::string(kBytesMax, 'x') + "|");
  EXPECT_EQ(parse(file_part(std::string(kBytesMax + 1, 'x')) + kClose), "upload_too_large");
  EXPECT_EQ(parse(purpose_part(std::string(kFieldBytesMax + 1, 'x')) + kClose),
            "invalid_multipart");
  std::string many;
  for (std::size_t i = 0; i <= kPartsMax; ++i) {
    many += part("Content-Disposition: form-data; name=\"x\"", "y");
  }
  EXPECT_EQ(parse(many + kClose), "invalid_multipart");

  MultipartParser endless("BOUNDARY", kBytesMax);
  ASSERT_TRUE(endless.feed("--BOUNDARY\r\nX-Padding: "));
  std::size_t n_fed = 0;
  while (n_fed < 2 * kPartHeaderBytesMax && endless.feed(std::string(100, 'x'))) n_fed += 100;
  EXPECT_LE(n_fed, kPartHeaderBytesMax);

  MultipartParser large("BOUNDARY", kBytesMax);
  ASSERT_TRUE(large.feed(file_part("").substr(0, file_part("").size() - 2)));
  n_fed = 0;
  while (n_fed < 2 * kBytesMax && large.feed(std::string(10, 'x'))) n_fed += 10;
  EXPECT_LE(n_fed, kBytesMax + 20) << "refused before the part ends";
}

TEST(Multipart, RandomBytesInRandomPiecesNeverMatterToTheResult) {
  std::mt19937 random(7);
  constexpr std::string_view kAlphabet = "\r\n-BOUNDARY:;=\"x";
  for (int round = 0; round < 2000; ++round) {
    std::string body = round % 2 == 0 ? file_part("PNG") : std::string("--BOUNDARY");
    const std::size_t n = random() % 60;
    for (std::size_t i = 0; i < n; ++i) body += kAlphabet[random() % kAlphabet.size()];
    std::vector<std::string_view> pieces;
    std::string_view rest = body;
    while (!rest.empty()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), random() % 9 + 1);
      pieces.push_back(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    ASSERT_EQ(parse(pieces), parse(body)) << round;
  }
}

TEST(Multipart, TheBoundaryComesFromTheContentType) {
  EXPECT_EQ(*multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(*multipart_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a:b\""), "a:b");
  for (const std::string& type :
       {std::string(), std::string("application/json"), std::string("multipart/mixed; boundary=a"),
        std::string("multipart/form-data"), std::string("multipart/form-data; boundary="),
        std::string("multipart/form-data; boundary=\"a b\""),
        std::string("multipart/form-data; boundary=\"a\r\nb\""),
        "multipart/form-data; boundary=" + std::string(kBoundaryBytesMax + 1, 'a')}) {
    const auto boundary = multipart_boundary(type);
    ASSERT_FALSE(boundary) << type;
    EXPECT_EQ(boundary.error().reason, "invalid_multipart");
  }
}

}  // namespace
}  // namespace tessera::uploads
