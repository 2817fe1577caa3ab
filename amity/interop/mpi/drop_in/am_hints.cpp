#include "amity/interop/mpi/drop_in/am_hints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "amity/base/edit_distance.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {
namespace {

constexpr std::string_view guarantee_prefix = "am_user_buf_";
/// So that sums of all origins do not overflow.
constexpr std::uint64_t guarantee_max = std::uint64_t{1} << 40;

/// The keys with two possible values, of which the first one is the default: calls `visit(key, first, second)`.
template <class Visit>
void for_each_choice(Visit visit) {
  visit("am_atomic", "true", "false");
  visit("am_buf_interleave_am_detach", "true", "false");
  visit("am_concurrency", "true", "false");
  visit("am_ordering", "none", "origin");
}

template <class Number>
bool read_number(std::string_view text, Number& number) noexcept {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

am_guarantee read_guarantee(std::string_view key, std::string_view value, rank_t size) {
  am_guarantee read{};
  const std::string_view rank = key.substr(guarantee_prefix.size());
  if (!read_number(rank, read.target) || read.target < 0 || read.target >= size)
    throw mpi_error(MPI_ERR_INFO_KEY, fmt::format("the info key {}", key),
                    fmt::format("name a rank from 0 to {}", size - 1));
  if (!read_number(value, read.bytes) || read.bytes > guarantee_max)
    throw mpi_error(MPI_ERR_INFO_VALUE, fmt::format("the value '{}' of {}", value, key),
                    fmt::format("pass a number of bytes, at most {}", guarantee_max));
  return read;
}

}  // namespace

am_hints read_am_hints(const window_info& info, rank_t size) {
  for_each_choice([&](std::string_view key, std::string_view first, std::string_view second) {
    const std::string_view value = info.value_of(key, first);
    if (value == first || value == second) return;
    throw mpi_error(MPI_ERR_INFO_VALUE, fmt::format("the value '{}' of {}", value, key),
                    fmt::format("pass {} or {}", first, second));
  });
  am_hints read{.may_detach = !info.denies("am_buf_interleave_am_detach"), .is_atomic = !info.denies("am_atomic")};
  info.for_each(guarantee_prefix, [&](std::string_view key, std::string_view value) {
    const am_guarantee each = read_guarantee(key, value, size);
    if (std::ranges::find(read.guarantees, each.target, &am_guarantee::target) != read.guarantees.end())
      throw mpi_error(MPI_ERR_INFO_KEY, fmt::format("a second key {} for the same rank", key), "name each rank once");
    read.guarantees.push_back(each);
  });
  return read;
}

bool is_am_hint(std::string_view key) noexcept {
  bool is_choice = false;
  for_each_choice([&](std::string_view each, std::string_view, std::string_view) { is_choice |= key == each; });
  return is_choice || key.starts_with(guarantee_prefix);
}

std::vector<std::string> warnings_of_am_hints(const window_info& info) {
  std::vector<std::string_view> known{"am_user_buf_0"};
  for_each_choice([&](std::string_view each, std::string_view, std::string_view) { known.push_back(each); });
  std::vector<std::string> warnings;
  info.for_each("am_", [&](std::string_view key, std::string_view) {
    if (is_am_hint(key)) return;
    const std::optional<std::string_view> meant = nearest(key, known);
    warnings.push_back(
        meant ? fmt::format("unknown info key '{}'; did you mean '{}'?", key, *meant)
              : fmt::format("unknown info key '{}'; the keys are {} and so on", key, fmt::join(known, ", ")));
  });
  return warnings;
}

}  // namespace amity::mpi
