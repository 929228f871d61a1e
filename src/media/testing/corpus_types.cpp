// corpus_of_types: other formats by their first bytes, and files that are two things at once.
#include "media/testing/byte_edits.h"
#include "media/testing/corpus.h"

namespace tessera::media::testing {
namespace {

using std::string_view_literals::operator""sv;
using wire::MediaError;

constexpr ImageSize kSize{16, 16};

void add_other_formats(std::vector<CorpusFile>& files) {
  struct Other {
    const char* name;
    std::string_view bytes;
  };
  constexpr Other kOthers[] = {
      {"svg", "<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///secret'/></svg>"sv},
      {"svg-xml", "<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg>&a;</svg>"sv},
      {"html", "<!DOCTYPE html><script>alert(1)</script>"sv},
      {"tiff-little", "II*\0\x08\0\0\0\1\0"sv},
      {"tiff-big", "MM\0*\0\0\0\x08\0\1"sv},
      {"tiff-64", "MM\0+\0\x08\0\0"sv},
      {"bmp", "BM\x46\0\0\0\0\0\0\0\x36\0\0\0"sv},
      {"pdf", "%PDF-1.7\n1 0 obj"sv},
      {"jpeg2000", "\0\0\0\x0CjP  \r\n\x87\n\0\0\0\x14"sv},
      {"jpeg2000-bare", "\xFF\x4F\xFF\x51\0\x29"sv},
      {"jpegxl", "\xFF\x0A\xFA\x1F"sv},
      {"jpegxl-boxed", "\0\0\0\x0CJXL \r\n\x87\n"sv},
      {"icon", "\0\0\1\0\1\0\x10\x10"sv},
      {"heic",
       "\0\0\0\x18"
       "ftypheic\0\0\0\0mif1heic"sv},
      {"heic-open-brand",
       "\0\0\0\x18"
       "ftypmif1\0\0\0\0mif1heic"sv},
      {"mp4",
       "\0\0\0\x18"
       "ftypisom\0\0\2\0isomiso2"sv},
      {"avi", "RIFF\x24\0\0\0AVI LIST"sv},
      {"wave", "RIFF\x24\0\0\0WAVEfmt "sv},
      {"zip", "PK\3\4\x14\0\0\0"sv},
      {"playlist", "#EXTM3U\n#EXTINF:1,\nfile:///secret\n"sv},
      {"postscript", "%!PS-Adobe-3.0"sv},
      {"program",
       "\x7F"
       "ELF\2\1\1"sv},
      {"text", "This is no picture at all."sv},
      {"one-byte", "\xFF"sv},
      {"empty", ""sv},
  };
  for (const Other& other : kOthers) {
    files.push_back({other.name, to_bytes(other.bytes), MediaError::kUnsupportedFormat, {}});
  }
}

void add_signatures_alone(std::vector<CorpusFile>& files) {
  const auto add = [&](const char* name, std::string_view bytes) {
    files.push_back({name, to_bytes(bytes), MediaError::kInvalid, {}});
  };
  add("jpeg-signature", "\xFF\xD8\xFF"sv);
  add("png-signature", "\x89PNG\r\n\x1A\n"sv);
  add("gif-signature", "GIF89a"sv);
  add("webp-signature", "RIFF\0\0\0\0WEBP"sv);
  add("avif-signature",
      "\0\0\0\x18"
      "ftypavif\0\0\0\0avifmif1"sv);
}

void add_polyglots(std::vector<CorpusFile>& files) {
  const ByteVector zip = to_bytes("PK\3\4\x14\0\0\0\0\0PK\5\6\0\0\0\0\0\0\0\0"sv);
  const ByteVector html = to_bytes("<html><script>alert(1)</script></html>"sv);
  const ByteVector jpeg = encode_jpeg(gradient(kSize));
  const ByteVector png = encode_png(gradient(kSize));
  const auto image = [&](const char* name, ByteVector bytes) {
    files.push_back({name, std::move(bytes), MediaError::kNone, kSize});
  };
  // What stands behind an image's end is not read.
  image("jpeg-then-zip", joined(jpeg, zip));
  image("png-then-html", joined(png, html));
  image("gif-then-pdf",
        joined(encode_gif({kSize, ByteVector(256)}, {.canvas = {}, .palette_rgb = ByteVector(6)}),
               to_bytes("%PDF-1.7"sv)));
  image("png-with-html-as-text",
        with_png_chunk(png, png_chunk("tEXt", joined(to_bytes("Comment\0"sv), html))));
  // A comment segment behind SOI that holds the start of a PDF.
  ByteVector with_comment(jpeg.begin(), jpeg.begin() + 2);
  const ByteVector pdf = to_bytes("%PDF-1.7\n1 0 obj"sv);
  with_comment.insert(with_comment.end(),
                      {0xFF, 0xFE, 0, static_cast<std::uint8_t>(pdf.size() + 2)});
  with_comment.insert(with_comment.end(), pdf.begin(), pdf.end());
  with_comment.insert(with_comment.end(), jpeg.begin() + 2, jpeg.end());
  image("jpeg-with-pdf-as-comment", with_comment);
  // The first bytes decide.
  files.push_back({"pdf-then-jpeg", joined(pdf, jpeg), MediaError::kUnsupportedFormat, {}});
  files.push_back({"html-then-png", joined(html, png), MediaError::kUnsupportedFormat, {}});
  files.push_back({"zip-then-jpeg", joined(zip, jpeg), MediaError::kUnsupportedFormat, {}});
}

}  // namespace

std::vector<CorpusFile> corpus_of_types() {
  std::vector<CorpusFile> files;
  add_other_formats(files);
  add_signatures_alone(files);
  add_polyglots(files);
  return files;
}

}  // namespace tessera::media::testing
