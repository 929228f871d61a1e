#include "media/testing/worker_zygote.h"

#include <map>
#include <memory>

#include "core/clock.h"
#include "core/mutex.h"

namespace tessera::media::testing {

sandbox::Zygote& worker_zygote(const std::string& path) {
  static Mutex mutex;
  static const SteadyClock kClock;
  static std::map<std::string, std::unique_ptr<sandbox::Zygote>> zygotes;
  MutexLock lock(mutex);
  auto& zygote = zygotes[path];
  if (!zygote) zygote = sandbox::Zygote::start({path, false}, kClock).value();
  return *zygote;
}

}  // namespace tessera::media::testing
