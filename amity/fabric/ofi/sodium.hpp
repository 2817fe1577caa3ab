#pragma once

/// libsodium, loaded when the fabric is chosen, as libfabric is: programs that use another fabric do not need it.

#include <sodium.h>

#include <string>

namespace amity::fabric::ofi {

/// The functions that the fabric calls. A copy of it is valid as long as the process.
struct sodium {
  decltype(&::crypto_kdf_derive_from_key) derive_key = nullptr;
  decltype(&::crypto_stream_chacha20_xor_ic) chacha20_xor = nullptr;
  decltype(&::crypto_onetimeauth) poly1305 = nullptr;
  decltype(&::crypto_onetimeauth_verify) poly1305_verify = nullptr;

  /// Returns false if the library is not found or lacks a function; `why` states the reason.
  bool load(std::string& why);
};

}  // namespace amity::fabric::ofi
