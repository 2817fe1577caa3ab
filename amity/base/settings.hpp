#pragma once

/// Settings: one table, read once from the environment, passed down explicitly.
///
/// Every setting has a name `AMITY_<LAYER>_<NAME>_<UNIT>`, a unit, a default, bounds, a help line and a record of where
/// its value came from. An unusable value is an error that names the setting; an `AMITY_*` variable that is no setting
/// is reported with the nearest name, never ignored.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace amity {

/// One row of the table.
struct setting_info {
  enum class kind { integer, text };
  enum class form { any, multiple_of_64, power_of_two };

  std::string_view name;  ///< "AMITY_SHM_BUFFERS"
  kind type;
  std::string_view unit;           ///< "bytes", "ns", "count", "name", ...; quantity of the value
  std::string_view default_value;  ///< as a user would write it
  std::int64_t min = 0;            ///< inclusive bounds of an integer
  std::int64_t max = 0;
  std::string_view choices;  ///< texts separated by '|'; empty: any text
  std::string_view help;     ///< one sentence, or two
  form shape = form::any;    ///< what an integer must also be
  bool internal = false;     ///< set by the launcher for its ranks, not by users
};

/// The whole table, sorted by name.
std::span<const setting_info> setting_table() noexcept;

/// Its row of that name, or null.
const setting_info* find_setting(std::string_view name) noexcept;

/// A whole number with an optional suffix: k, m, g (powers of 1024); of the unit "ns" also ns, us, ms, s; of "%" also
/// %. Nothing if `text` is anything else or does not fit.
std::optional<std::int64_t> parse_quantity(std::string_view text, std::string_view unit) noexcept;

/// The values in force for one process. Immutable once read, apart from `set`, which programs and tests use before
/// they create a world. Safe to read from many threads.
class settings {
 public:
  enum class origin { standard, environment, program };

  /// All settings at their defaults.
  settings();

  /// Reads `AMITY_*` from the process's environment. Integers accept the suffixes of `parse_quantity`.
  /// Throws `error` for a value that is out of bounds, not a number, or not one of the choices.
  static settings from_environment();

  /// As above, from an explicit list of "NAME=VALUE" (tests, launchers).
  static settings from_list(std::span<const std::string> environment);

  /// Value of an integer setting. The name must be in the table.
  std::int64_t integer(std::string_view name) const;

  /// Value of a text setting. The name must be in the table.
  const std::string& text(std::string_view name) const;

  /// The value as text, whatever its kind.
  const std::string& value(std::string_view name) const { return text(name); }

  origin where_from(std::string_view name) const;

  /// Overrides a setting from the program. Throws as `from_environment` does, also for an unknown name.
  void set(std::string_view name, std::string_view value);

  /// Variables that begin with AMITY_ and are no setting: one ready sentence each, with the nearest name.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  struct entry {
    std::string text;
    std::int64_t integer = 0;
    origin from = origin::standard;
  };

  const entry& find(std::string_view name) const;
  void assign(const setting_info& info, std::string_view value, origin from);

  std::vector<entry> entries_;  // one for each row of the table
  std::vector<std::string> warnings_;
};

}  // namespace amity
