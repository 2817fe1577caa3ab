#pragma once

/// libfabric, loaded when it is needed and not before.
///
/// Programs that use another fabric neither wait for its many libraries nor get what these do when they are loaded:
/// some take over the handlers of signals. All else of libfabric's interface is inline.

#include <rdma/fabric.h>

#include <memory>
#include <string>

namespace amity::fabric::ofi {

struct library {
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  /// False if it is not there, or lacks something; `why` says so then.
  bool load(std::string& why);
};

struct free_info {
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  void operator()(fi_info* info) const noexcept { freeinfo(info); }
};
using info_ptr = std::unique_ptr<fi_info, free_info>;

}  // namespace amity::fabric::ofi
