#include "amity/interop/shmem/heap_size.hpp"

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::shmem {

std::size_t heap_bytes_wanted() {
  constexpr std::size_t usual = std::size_t{1} << 30;
  for (const char* name : {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    double bytes = std::strtod(text, &end);
    if (const std::size_t unit = std::string_view("kmgt").find(static_cast<char>(*end | 0x20));
        *end != '\0' && unit != std::string_view::npos) {
      bytes *= std::pow(1024.0, static_cast<double>(unit + 1));
      ++end;
    }
    if (end == text || *end != '\0' || !(bytes >= 0) || bytes > 0x1p45) {
      throw error("shmem_init", no_rank, fmt::format("{}={} is no size of a symmetric heap", name, text),
                  "give a number of bytes, at most 32T, or one with K, M, G or T, as 512M");
    }
    return static_cast<std::size_t>(bytes);
  }
  return usual;
}

}  // namespace amity::shmem
