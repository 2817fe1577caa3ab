#include "amity/fabric/ofi/library.hpp"

#include <dlfcn.h>

#include <array>
#include <csignal>

#include <fmt/format.h>

#include "amity/base/types.hpp"

namespace amity::fabric::ofi {
namespace {

/// Puts the handlers of signals back as they were.
class kept_handlers : private immovable {
 public:
  kept_handlers() {
    for (int signal = 1; signal < signals; ++signal) ::sigaction(signal, nullptr, &before_[index(signal)]);
  }
  ~kept_handlers() {
    for (int signal = 1; signal < signals; ++signal) ::sigaction(signal, &before_[index(signal)], nullptr);
  }

 private:
  static constexpr int signals = 32;
  static std::size_t index(int signal) { return static_cast<std::size_t>(signal); }
  std::array<struct sigaction, signals> before_{};
};

template <class Function>
void find(void* from, const char* name, Function& found) {
  found = reinterpret_cast<Function>(::dlsym(from, name));
}

}  // namespace

bool library::load(std::string& why) {
  const kept_handlers unchanged;
  void* const loaded = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (loaded == nullptr) {
    why = fmt::format("libfabric cannot be loaded: {}", ::dlerror());
    return false;
  }
  find(loaded, "fi_version", version);
  find(loaded, "fi_getinfo", getinfo);
  find(loaded, "fi_freeinfo", freeinfo);
  find(loaded, "fi_dupinfo", dupinfo);
  find(loaded, "fi_fabric", fabric);
  find(loaded, "fi_strerror", strerror);
  if (version != nullptr && getinfo != nullptr && freeinfo != nullptr && dupinfo != nullptr && fabric != nullptr &&
      strerror != nullptr) {
    return true;
  }
  why = "libfabric.so.1 lacks functions that amity needs";
  return false;
}

}  // namespace amity::fabric::ofi
