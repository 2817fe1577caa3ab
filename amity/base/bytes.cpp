#include "amity/base/bytes.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity {

void byte_reader::throw_truncated(std::size_t wanted) const {
  throw error("reading a message", no_rank, fmt::format("{} bytes were to be read, {} are left", wanted, rest_.size()),
              "let codec<T>::read take exactly what codec<T>::write wrote");
}

}  // namespace amity
