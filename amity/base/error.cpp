#include "amity/base/error.hpp"

#include <fmt/format.h>

namespace amity {
namespace {

std::string compose(std::string_view call, rank_t rank, std::string_view problem, std::string_view remedy) {
  if (rank == no_rank) return fmt::format("amity: {}: {}; {}", call, problem, remedy);
  return fmt::format("amity: {} (rank {}): {}; {}", call, rank, problem, remedy);
}

}  // namespace

error::error(std::string_view call, rank_t rank, std::string_view problem, std::string_view remedy)
    : std::runtime_error(compose(call, rank, problem, remedy)) {}

}  // namespace amity
