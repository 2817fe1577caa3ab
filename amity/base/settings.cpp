#include "amity/base/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/edit_distance.hpp"
#include "amity/base/error.hpp"

namespace amity {
namespace {

constexpr std::string_view prefix = "AMITY_";

std::size_t row_of(const setting_info& info) noexcept {
  return static_cast<std::size_t>(&info - setting_table().data());
}

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> parts;
  while (!choices.empty()) {
    const auto end = std::min(choices.find('|'), choices.size());
    parts.push_back(choices.substr(0, end));
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return parts;
}

/// What to do about a name that is no setting.
std::string remedy_for_unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& info : setting_table()) {
    if (!info.internal) names.push_back(info.name);
  }
  const auto close = nearest(name, names);
  return close ? fmt::format("did you mean {}?", *close) : std::string("`amity info` lists all settings");
}

/// What a suffix multiplies by, or 0 if it is none for this unit.
std::int64_t factor_of(std::string_view suffix, std::string_view unit) noexcept {
  struct known {
    std::string_view unit;  // empty: any
    std::string_view suffix;
    std::int64_t factor;
  };
  static constexpr auto all = std::to_array<known>({
      {"", "", 1},
      {"", "k", 1 << 10},
      {"", "K", 1 << 10},
      {"", "m", 1 << 20},
      {"", "M", 1 << 20},
      {"", "g", 1 << 30},
      {"", "G", 1 << 30},
      {"%", "%", 1},
      {"ns", "ns", 1},
      {"ns", "us", 1'000},
      {"ns", "ms", 1'000'000},
      {"ns", "s", 1'000'000'000},
  });
  const auto found = std::ranges::find_if(
      all, [&](const known& each) { return each.suffix == suffix && (each.unit.empty() || each.unit == unit); });
  return found == all.end() ? 0 : found->factor;
}

std::string_view suffixes_of(std::string_view unit) noexcept {
  if (unit == "%") return "%, k, m or g";
  return unit == "ns" ? "ns, us, ms, s, k, m or g" : "k, m or g";
}

bool has_form(std::int64_t value, setting_info::form form) noexcept {
  switch (form) {
    case setting_info::form::any:
      return true;
    case setting_info::form::multiple_of_64:
      return value % 64 == 0;
    case setting_info::form::power_of_two:
      return value > 0 && std::has_single_bit(static_cast<std::uint64_t>(value));
  }
  return false;
}

/// "a number from 1 to 64 (buffers a peer), for example AMITY_SHM_BUFFERS=16"
std::string wanted(const setting_info& info) {
  std::string_view noun = "a whole number";
  if (info.shape == setting_info::form::multiple_of_64) noun = "a multiple of 64";
  if (info.shape == setting_info::form::power_of_two) noun = "a power of two";
  return fmt::format("give {} from {} to {} ({}), for example {}={}", noun, info.min, info.max, info.unit, info.name,
                     info.default_value);
}

struct quantity {
  std::int64_t value = 0;
  std::errc failure{};  ///< invalid_argument: the text is none; result_out_of_range: it takes more than 64 bits
};

quantity read_quantity(std::string_view text, std::string_view unit) noexcept {
  quantity found;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, found.value);
  const std::int64_t factor = failure == std::errc::invalid_argument ? 0 : factor_of({rest, end}, unit);
  if (factor == 0) return {.failure = std::errc::invalid_argument};
  if (failure != std::errc{} || __builtin_mul_overflow(found.value, factor, &found.value)) {
    found.failure = std::errc::result_out_of_range;
  }
  return found;
}

std::int64_t checked_integer(const setting_info& info, std::string_view value) {
  const quantity number = read_quantity(value, info.unit);
  const bool beyond = number.failure == std::errc::result_out_of_range;
  std::string problem;
  if (number.failure == std::errc::invalid_argument) {
    problem = fmt::format("is not a whole number, with or without a suffix {}", suffixes_of(info.unit));
  } else if (beyond ? value.starts_with('-') : number.value < info.min) {
    problem = "is too small";
  } else if (beyond || number.value > info.max) {
    problem = "is too large";
  } else if (!has_form(number.value, info.shape)) {
    problem = info.shape == setting_info::form::power_of_two ? "is not a power of two" : "is not a multiple of 64";
  }
  if (!problem.empty())
    throw error("settings", no_rank, fmt::format("{}={} {}", info.name, value, problem), wanted(info));
  return number.value;
}

void check_choice(const setting_info& info, std::string_view value) {
  const auto choices = split_choices(info.choices);
  if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return;
  const auto close = nearest(value, choices);
  throw error("settings", no_rank, fmt::format("{}={} is not one of {}", info.name, value, fmt::join(choices, ", ")),
              close ? fmt::format("did you mean {}={}?", info.name, *close)
                    : fmt::format("give one of them, for example {}={}", info.name, info.default_value));
}

}  // namespace

const setting_info* find_setting(std::string_view name) noexcept {
  const auto table = setting_table();
  const auto row = std::ranges::lower_bound(table, name, {}, &setting_info::name);
  return row != table.end() && row->name == name ? &*row : nullptr;
}

std::optional<std::int64_t> parse_quantity(std::string_view text, std::string_view unit) noexcept {
  const quantity found = read_quantity(text, unit);
  return found.failure == std::errc{} ? std::optional(found.value) : std::nullopt;
}

settings::settings() : entries_(setting_table().size()) {
  for (const auto& info : setting_table()) assign(info, info.default_value, origin::standard);
}

settings settings::from_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with(prefix)) environment.emplace_back(*variable);
  }
  return from_list(environment);
}

settings settings::from_list(std::span<const std::string> environment) {
  settings result;
  for (const std::string_view variable : environment) {
    if (!variable.starts_with(prefix)) continue;
    const auto equals = variable.find('=');
    if (equals == std::string_view::npos) {
      throw error("settings", no_rank, fmt::format("{} has no value", variable),
                  fmt::format("write {}=VALUE", variable));
    }
    const auto name = variable.substr(0, equals);
    if (const auto* const info = find_setting(name)) {
      result.assign(*info, variable.substr(equals + 1), origin::environment);
    } else {
      result.warnings_.push_back(fmt::format("{} is not a setting; {}", name, remedy_for_unknown(name)));
    }
  }
  return result;
}

const settings::entry& settings::find(std::string_view name) const {
  const auto* const info = find_setting(name);
  AMITY_ASSERT(info != nullptr, name);
  return entries_[row_of(*info)];
}

void settings::assign(const setting_info& info, std::string_view value, origin from) {
  entry made{.text = std::string(value), .integer = 0, .from = from};
  if (info.type == setting_info::kind::integer) {
    made.integer = checked_integer(info, value);
  } else {
    check_choice(info, value);
  }
  entries_[row_of(info)] = std::move(made);
}

std::int64_t settings::integer(std::string_view name) const {
  const auto* const info = find_setting(name);
  AMITY_ASSERT(info != nullptr && info->type == setting_info::kind::integer, name);
  return find(name).integer;
}

const std::string& settings::text(std::string_view name) const { return find(name).text; }

settings::origin settings::where_from(std::string_view name) const { return find(name).from; }

void settings::set(std::string_view name, std::string_view value) {
  const auto* const info = find_setting(name);
  if (info == nullptr) {
    throw error("settings", no_rank, fmt::format("{} is not a setting", name), remedy_for_unknown(name));
  }
  assign(*info, value, origin::program);
}

}  // namespace amity
