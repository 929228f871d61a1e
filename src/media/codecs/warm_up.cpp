#include "media/codecs/warm_up.h"

#include <lcms2.h>

#include <ctime>

namespace tessera::media {

void warm_up() {
  ::tzset();
  cmsCloseProfile(cmsCreate_sRGBProfile());
}

}  // namespace tessera::media
