// What a decoder cannot do once it is locked down, done before.
// @thread the zygote's only thread
#pragma once

namespace tessera::media {

/// Reads the time zone, which lcms2 asks for when it makes a profile, and makes a first profile.
/// Afterwards no codec opens a file.
void warm_up();

}  // namespace tessera::media
