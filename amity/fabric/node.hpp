#pragma once

/// The node of a process: one kernel whose processes see each other and share one network, so that they can share
/// memory, and reach each other without leaving the machine.

#include <string>
#include <string_view>
#include <vector>

namespace amity::fabric {

/// What names this process's node. `given` (AMITY_NODE) replaces it unless it is empty. Throws `error` for a name that
/// is too long, or not one line.
std::string node_identity(std::string_view given);

/// CPUs of a node, by number.
class cpu_set {
 public:
  int count() const noexcept;
  void add(const cpu_set& others);
  void add(std::size_t cpu);
  /// In ascending order.
  std::vector<std::size_t> numbers() const;

  /// As hexadecimal digits, and back; other characters count for nothing.
  std::string text() const;
  static cpu_set parse(std::string_view text);

 private:
  std::vector<bool> members_;
};

/// CPUs that this process may run on.
cpu_set allowed_cpus();

}  // namespace amity::fabric
