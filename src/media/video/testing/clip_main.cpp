// Writes a clip of four scenes (red, green, blue, grey; a bright bar wanders through them) for
// tests that run from outside, and for measurements:
//
//   tessera-test-clip FILE WIDTHxHEIGHT FRAMES FRAMES_PER_SECOND [ENCODER CONTAINER]
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "media/video/testing/encode_clip.h"

namespace {

using tessera::media::video::testing::ClipOptions;
using tessera::media::video::testing::Rgb;

constexpr int kScenes = 4;
constexpr int kBarPixels = 8;

Rgb scene_colour(int scene) {
  switch (scene) {
    case 0:
      return {180, 40, 40};
    case 1:
      return {40, 160, 40};
    case 2:
      return {40, 40, 190};
    default:
      return {128, 128, 128};
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 7) return 2;
  ClipOptions options;
  if (std::sscanf(argv[2], "%dx%d", &options.size.width, &options.size.height) != 2) return 2;
  options.n_frames = std::atoi(argv[3]);
  options.frames_per_second = std::atoi(argv[4]);
  options.group = options.frames_per_second;
  if (argc == 7) {
    options.encoder = argv[5];
    options.container = argv[6];
  }
  options.paint = [&options](int frame, int x, int y) -> Rgb {
    if ((x + y + 3 * frame) % options.size.width < kBarPixels) return {250, 250, 250};
    return scene_colour(frame * kScenes / options.n_frames);
  };
  const auto file = tessera::media::video::testing::encode_clip(options);
  std::ofstream out(argv[1], std::ios::binary);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  return out.good() ? 0 : 1;
}
