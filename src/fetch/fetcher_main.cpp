// tessera-fetcher: fetches media that requests name by URL. Started by the server with one socket
// and nothing else: no environment, so no proxy and no credentials; no weights; not for use by
// hand.
#include "fetch/fetcher_program.h"
#include "fetch/own_addresses.h"

namespace {

using tessera::fetch::AddressRange;
using tessera::fetch::AddressVerdict;

AddressVerdict judge(const sockaddr& address, std::span<const AddressRange> denied) {
  const AddressVerdict verdict = tessera::fetch::judge_address(address, denied);
  if (verdict != AddressVerdict::kPublic) return verdict;
  return tessera::fetch::is_own_address(address) ? AddressVerdict::kOperatorDenied : verdict;
}

}  // namespace

int main() {
  tessera::fetch::run_fetcher({.judge = judge, .resolve = {}, .trusted_certificates = {}});
}
