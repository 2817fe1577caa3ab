#include "amity/fabric/ofi/sodium.hpp"

#include <dlfcn.h>

#include <array>

#include <fmt/format.h>

namespace amity::fabric::ofi {
namespace {

template <class Function>
bool find_function(void* from, const char* name, Function& found) {
  found = reinterpret_cast<Function>(::dlsym(from, name));
  return found != nullptr;
}

}  // namespace

bool sodium::load(std::string& why) {
  // Releases 1.0.12 to 1.0.18, and those since 1.0.19; the functions used here are the same in both.
  constexpr std::array names{"libsodium.so.23", "libsodium.so.26"};
  void* loaded = nullptr;
  for (const char* const name : names) {
    loaded = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded != nullptr) break;
    if (why.empty()) why = fmt::format("libsodium cannot be loaded: {}", ::dlerror());
  }
  if (loaded == nullptr) return false;
  why.clear();
  decltype(&::sodium_init) init = nullptr;
  if (!find_function(loaded, "sodium_init", init) || !find_function(loaded, "crypto_kdf_derive_from_key", derive_key) ||
      !find_function(loaded, "crypto_stream_chacha20_xor_ic", chacha20_xor) ||
      !find_function(loaded, "crypto_onetimeauth", poly1305) ||
      !find_function(loaded, "crypto_onetimeauth_verify", poly1305_verify)) {
    why = "libsodium lacks functions that amity needs (1.0.12 or later has them)";
    return false;
  }
  if (init() >= 0) return true;
  why = "libsodium cannot be initialized: the system gives no random numbers";
  return false;
}

}  // namespace amity::fabric::ofi
