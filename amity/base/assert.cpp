#include "amity/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace amity::detail {

void assertion_failed(const char* condition, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "amity: bug: %s:%d: expected %s%s%s\n", file, line, condition,
               values.empty() ? "" : "; values:", values.c_str());
  std::abort();
}

}  // namespace amity::detail
