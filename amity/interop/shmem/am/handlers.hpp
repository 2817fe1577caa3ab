#pragma once

/// Which function an id names on this PE.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "amity/interop/shmem/declare/messages.h"

namespace amity::shmem {

class handler_table {
 public:
  /// Null: nothing is registered under `id`.
  shmemx_am_handler find(int id) const {
    const auto index = static_cast<unsigned>(id);
    if (index < small_.size()) [[likely]]
      return small_[index];
    const auto found = others_.find(id);
    return found == others_.end() ? nullptr : found->second;
  }

  void add(int id, shmemx_am_handler handler) { place(id) = handler; }
  void remove(int id) { place(id) = nullptr; }

  /// "1, 7, 12", for messages.
  std::string describe() const {
    std::vector<int> ids;
    for (std::size_t id = 0; id < small_.size(); ++id) {
      if (small_[id] != nullptr) ids.push_back(static_cast<int>(id));
    }
    for (const auto& [id, handler] : others_) {
      if (handler != nullptr) ids.push_back(id);
    }
    if (ids.empty()) return "none";
    std::ranges::sort(ids);
    std::string text;
    for (const int id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
    return text;
  }

 private:
  shmemx_am_handler& place(int id) {
    const auto index = static_cast<unsigned>(id);
    return index < small_.size() ? small_[index] : others_[id];
  }

  std::array<shmemx_am_handler, 256> small_{};  ///< what most programs use
  std::map<int, shmemx_am_handler> others_;
};

}  // namespace amity::shmem
