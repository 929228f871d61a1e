#include "media/heif/hevc_decoder.h"

#include <libde265/de265.h>
#include <libheif/heif.h>
#include <libheif/heif_plugin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "media/heif/heif_file.h"

namespace tessera::media::heif {
namespace {

thread_local PictureBudget* current_budget = nullptr;

constexpr heif_error kDone{heif_error_Ok, heif_suberror_Unspecified, ""};
constexpr heif_error kNoMemory{heif_error_Memory_allocation_error, heif_suberror_Unspecified, ""};
constexpr heif_error kDamaged{heif_error_Invalid_input, heif_suberror_Unspecified, ""};

/// libheif's own has 100.
constexpr int kPriority = 1000;

struct De265Deleter {
  void operator()(de265_decoder_context* context) const { ::de265_free_decoder(context); }
};
using De265Ptr = std::unique_ptr<de265_decoder_context, De265Deleter>;

/// Before libde265 has memory for a picture. 0 = refused.
int get_buffer(de265_decoder_context* context, de265_image_spec* spec, de265_image* image,
               void* user_data) {
  PictureBudget* const budget = PictureBudget::current();
  if (budget == nullptr || !budget->take({spec->width, spec->height})) return 0;
  return ::de265_get_default_image_allocation_functions()->get_buffer(context, spec, image,
                                                                      user_data);
}

void release_buffer(de265_decoder_context* context, de265_image* image, void* user_data) {
  ::de265_get_default_image_allocation_functions()->release_buffer(context, image, user_data);
}

heif_error new_decoder(void** decoder) {
  De265Ptr context(::de265_new_decoder());
  if (!context) return kNoMemory;
  de265_image_allocation allocation{get_buffer, release_buffer};
  ::de265_set_image_allocation_functions(context.get(), &allocation, nullptr);
  *decoder = context.release();
  return kDone;
}

void free_decoder(void* decoder) {
  const De265Ptr owner(static_cast<de265_decoder_context*>(decoder));
}

/// @param data  units of HEVC, each behind its length of four bytes
heif_error push_data(void* decoder, const void* data, std::size_t n_bytes) {
  constexpr std::size_t kLengthBytes = 4;
  Bytes rest(static_cast<const std::uint8_t*>(data), n_bytes);
  while (!rest.empty()) {
    if (rest.size() < kLengthBytes) return kDamaged;
    const std::size_t n = std::size_t{rest[0]} << 24U | std::size_t{rest[1]} << 16U |
                          std::size_t{rest[2]} << 8U | std::size_t{rest[3]};
    rest = rest.subspan(kLengthBytes);
    if (n > rest.size()) return kDamaged;
    const de265_error error = ::de265_push_NAL(static_cast<de265_decoder_context*>(decoder),
                                               rest.data(), static_cast<int>(n), 0, nullptr);
    if (error != DE265_OK) return error == DE265_ERROR_OUT_OF_MEMORY ? kNoMemory : kDamaged;
    rest = rest.subspan(n);
  }
  return kDone;
}

heif_chroma chroma_of(const de265_image& picture) {
  switch (::de265_get_chroma_format(&picture)) {
    case de265_chroma_mono:
      return heif_chroma_monochrome;
    case de265_chroma_420:
      return heif_chroma_420;
    case de265_chroma_422:
      return heif_chroma_422;
    case de265_chroma_444:
      return heif_chroma_444;
  }
  return heif_chroma_undefined;
}

bool copy_plane(const de265_image& picture, int index, heif_channel channel, heif_image& image) {
  const int width = ::de265_get_image_width(&picture, index);
  const int height = ::de265_get_image_height(&picture, index);
  const int n_bits = ::de265_get_bits_per_pixel(&picture, index);
  int n_from_bytes = 0;
  const std::uint8_t* const from = ::de265_get_image_plane(&picture, index, &n_from_bytes);
  if (from == nullptr || width <= 0 || height <= 0 ||
      ::heif_image_add_plane(&image, channel, width, height, n_bits).code != heif_error_Ok) {
    return false;
  }
  int n_to_bytes = 0;
  std::uint8_t* const to = ::heif_image_get_plane(&image, channel, &n_to_bytes);
  const auto n_row_bytes = static_cast<std::size_t>(width) * (n_bits > 8 ? 2 : 1);
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    std::memcpy(to + y * n_to_bytes, from + y * n_from_bytes, n_row_bytes);
  }
  return true;
}

/// What the stream says of its colours; libheif asks it where the boxes say nothing.
bool copy_colours(const de265_image& picture, heif_image& image) {
  const HeifPtr<heif_color_profile_nclx> nclx(::heif_nclx_color_profile_alloc());
  if (!nclx) return false;
  const auto number = [&picture](auto get) { return static_cast<std::uint16_t>(get(&picture)); };
  // Each of them keeps its default when the number is of nothing that libheif knows.
  ::heif_nclx_color_profile_set_color_primaries(nclx.get(),
                                                number(::de265_get_image_colour_primaries));
  ::heif_nclx_color_profile_set_transfer_characteristics(
      nclx.get(), number(::de265_get_image_transfer_characteristics));
  ::heif_nclx_color_profile_set_matrix_coefficients(nclx.get(),
                                                    number(::de265_get_image_matrix_coefficients));
  nclx->full_range_flag = ::de265_get_image_full_range_flag(&picture) != 0 ? 1 : 0;
  return ::heif_image_set_nclx_color_profile(&image, nclx.get()).code == heif_error_Ok;
}

heif_error copy_picture(const de265_image& picture, heif_image** out) {
  constexpr std::array kChannels{heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
  const heif_chroma chroma = chroma_of(picture);
  const bool is_grey = chroma == heif_chroma_monochrome;
  heif_image* created = nullptr;
  const heif_error error = ::heif_image_create(
      ::de265_get_image_width(&picture, 0), ::de265_get_image_height(&picture, 0),
      is_grey ? heif_colorspace_monochrome : heif_colorspace_YCbCr, chroma, &created);
  HeifPtr<heif_image> image(created);
  if (error.code != heif_error_Ok) return error;
  for (std::size_t i = 0; i < (is_grey ? 1 : kChannels.size()); ++i) {
    if (!copy_plane(picture, static_cast<int>(i), kChannels[i], *image)) return kNoMemory;
  }
  if (!copy_colours(picture, *image)) return kNoMemory;
  *out = image.release();
  return kDone;
}

/// The first picture of what was pushed.
heif_error decode_image(void* decoder, heif_image** out) {
  auto* const context = static_cast<de265_decoder_context*>(decoder);
  ::de265_flush_data(context);
  for (int more = 1; more != 0;) {  // bounded by what was pushed, which each call uses up
    more = 0;
    const de265_error error = ::de265_decode(context, &more);
    // A refused picture looks to libde265 like one that there was no memory for.
    const PictureBudget* const budget = PictureBudget::current();
    if (budget == nullptr || budget->is_overdrawn()) return kDamaged;
    if (error == DE265_ERROR_OUT_OF_MEMORY) return kNoMemory;
    if (error != DE265_OK) return kDamaged;
    if (const de265_image* const picture = ::de265_get_next_picture(context)) {
      return copy_picture(*picture, out);
    }
  }
  return kDamaged;
}

constexpr heif_decoder_plugin kPlugin{
    .plugin_api_version = 3,
    .get_plugin_name = [] { return kHevcDecoder; },
    .init_plugin = nullptr,
    .deinit_plugin = nullptr,
    .does_support_format =
        [](heif_compression_format format) {
          return format == heif_compression_HEVC ? kPriority : 0;
        },
    .new_decoder = new_decoder,
    .free_decoder = free_decoder,
    .push_data = push_data,
    .decode_image = decode_image,
    .set_strict_decoding =
        [](void* decoder, int is_strict) {
          ::de265_set_parameter_bool(static_cast<de265_decoder_context*>(decoder),
                                     DE265_DECODER_PARAM_SUPPRESS_FAULTY_PICTURES, is_strict);
        },
    .id_name = kHevcDecoder,
};

}  // namespace

void register_hevc_decoder() {
  [[maybe_unused]] static const heif_error kRegistered = ::heif_register_decoder_plugin(&kPlugin);
}

PictureBudget::PictureBudget(ImageSize announced) {
  // Phones cut pictures into tiles of 512, and the last ones stick out; other pictures are coded in
  // squares of up to 64. 512 is also the size up to which a lie is cheap.
  constexpr int kTile = 512;
  constexpr int kSquare = 64;
  constexpr int kSideMax = 1 << 20;  // keeps sums and products in range; libheif allows less
  const int width = std::min(announced.width, kSideMax);
  const int height = std::min(announced.height, kSideMax);
  largest_ = {std::max(kTile, width + kSquare - 1), std::max(kTile, height + kSquare - 1)};
  constexpr int kPlanes = 2;  // the picture and its alpha
  pixels_left_ = kPlanes * ImageSize{width + kTile, height + kTile}.pixels();
  current_budget = this;
}

PictureBudget::~PictureBudget() {
  current_budget = nullptr;
}

PictureBudget* PictureBudget::current() {
  return current_budget;
}

bool PictureBudget::take(ImageSize coded) {
  const bool fits = coded.width <= largest_.width && coded.height <= largest_.height &&
                    coded.pixels() <= pixels_left_;
  is_overdrawn_ = is_overdrawn_ || !fits;
  if (is_overdrawn_) return false;
  pixels_left_ -= coded.pixels();
  ++n_pictures_;
  return true;
}

}  // namespace tessera::media::heif
