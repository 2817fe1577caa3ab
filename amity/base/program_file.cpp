#include "amity/base/program_file.hpp"

#include <sys/auxv.h>

#include <system_error>

namespace amity {

std::filesystem::path program_file() {
  std::error_code unknown;
  auto found = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) return found;
  const auto* const started_by = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (started_by == nullptr) return {};
  found = std::filesystem::canonical(started_by, unknown);
  return unknown ? std::filesystem::path() : found;
}

}  // namespace amity
