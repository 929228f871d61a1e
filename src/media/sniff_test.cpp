#include "media/sniff.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::media {
namespace {

using std::string_view_literals::operator""sv;

FileKind kind_of(std::string_view text) {
  return sniff_format(std::as_bytes(std::span(text)));
}

TEST(Sniff, KnowsTheDecodableFormats) {
  EXPECT_EQ(kind_of("\xFF\xD8\xFF\xE0"sv), FileKind::kJpeg);
  EXPECT_EQ(kind_of("\x89PNG\r\n\x1A\n\0\0\0\x0D"sv), FileKind::kPng);
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0WEBPVP8L"sv), FileKind::kWebp);
  EXPECT_EQ(kind_of("GIF87a"sv), FileKind::kGif);
  EXPECT_EQ(kind_of("GIF89a"sv), FileKind::kGif);
  EXPECT_EQ(kind_of("\0\0\0\x18"
                    "ftypavif\0\0\0\0"sv),
            FileKind::kAvif);
  EXPECT_EQ(kind_of("\0\0\0\x18"
                    "ftypheic\0\0\0\0"sv),
            FileKind::kHeic);
  EXPECT_EQ(kind_of("\0\0\0\x18"
                    "ftypisom\0\0\0\0"sv),
            FileKind::kVideo);
  EXPECT_EQ(kind_of("\0\0\0\x08wide\0\0\0\0mdat"sv), FileKind::kVideo);
  EXPECT_EQ(kind_of("\x1A\x45\xDF\xA3\x01"sv), FileKind::kVideo);
}

TEST(Sniff, FindsTheCodecOfAnyHeifFileAmongItsCompatibleBrands) {
  EXPECT_EQ(kind_of("\0\0\0\x20"
                    "ftypmif1\0\0\0\0mif1avifmiaf"sv),
            FileKind::kAvif);
  EXPECT_EQ(kind_of("\0\0\0\x20"
                    "ftypmif1\0\0\0\0mif1heicmiaf"sv),
            FileKind::kHeic);
  EXPECT_EQ(kind_of("\0\0\0\x10"
                    "ftypmif1\0\0\0\0"sv),
            FileKind::kHeic);
}

TEST(Sniff, TheListOfSupportedFormatsNamesEachDecodableKind) {
  for (int i = 0; i <= static_cast<int>(FileKind::kUnknown); ++i) {
    const auto kind = static_cast<FileKind>(i);
    EXPECT_EQ(kSupportedFormats.find(describe(kind)) != std::string_view::npos,
              decodable(kind).has_value())
        << describe(kind);
  }
}

TEST(Sniff, TellsApartWhatItRefuses) {
  EXPECT_EQ(kind_of("%PDF-1.7"sv), FileKind::kPdf);
  EXPECT_EQ(kind_of("II*\0\x08\0\0\0"sv), FileKind::kTiff);
  EXPECT_EQ(kind_of("MM\0*\0\0\0\x08"sv), FileKind::kTiff);
  EXPECT_EQ(kind_of("BM\x36\0\0\0"sv), FileKind::kBmp);
  EXPECT_EQ(kind_of("\0\0\0\x0CjP  \r\n"sv), FileKind::kJpeg2000);
  EXPECT_EQ(kind_of("\xFF\x4F\xFF\x51\0"sv), FileKind::kJpeg2000);
  EXPECT_EQ(kind_of("\xFF\x0A\xFA"sv), FileKind::kJpegXl);
  EXPECT_EQ(kind_of("<svg xmlns="sv), FileKind::kSvg);
  EXPECT_EQ(kind_of("\xEF\xBB\xBF \n<?XML version"sv), FileKind::kSvg);
  EXPECT_EQ(kind_of("<!DOCTYPE html>"sv), FileKind::kHtml);
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0AVI LIST"sv), FileKind::kOtherVideo);
}

TEST(Sniff, TakesTextAndShortFilesForUnknown) {
  EXPECT_EQ(kind_of(""sv), FileKind::kUnknown);
  EXPECT_EQ(kind_of("\xFF\xD8"sv), FileKind::kUnknown);
  EXPECT_EQ(kind_of("RIFF"sv), FileKind::kUnknown);
  EXPECT_EQ(kind_of("RIFF\x10\0\0\0WAVE"sv), FileKind::kUnknown);
  EXPECT_EQ(kind_of("   "sv), FileKind::kUnknown);
  EXPECT_EQ(kind_of("This is no picture at all."sv), FileKind::kUnknown);
}

TEST(Sniff, ReadsNoFurtherThanItsLimit) {
  std::string far(kSniffBytes, ' ');
  far += "<svg";

  EXPECT_EQ(kind_of(far), FileKind::kUnknown);
}

TEST(Sniff, EveryKindHasANameAndSevenAreDecodable) {
  int n_decodable = 0;
  for (int i = 0; i <= static_cast<int>(FileKind::kUnknown); ++i) {
    const auto kind = static_cast<FileKind>(i);
    EXPECT_FALSE(describe(kind).empty());
    if (decodable(kind)) ++n_decodable;
  }

  EXPECT_EQ(n_decodable, 7);
}

}  // namespace
}  // namespace tessera::media
