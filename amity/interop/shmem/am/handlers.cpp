#include "amity/interop/shmem/am/handlers.hpp"

#include <algorithm>
#include <vector>

namespace amity::shmem {

std::string handler_table::describe() const {
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

}  // namespace amity::shmem
