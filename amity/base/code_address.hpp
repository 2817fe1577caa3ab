#pragma once

/// The address of a registered function as a word that means the same function in another process of the same program.
///
/// The system loads a program and its libraries at different addresses in each process, but never splits them: the
/// offset of a function from the beginning of its module is the same everywhere. A module is recognized by its build
/// id, or by name and size if it has none. Only functions that this process has registered are found: an address from a
/// network can name nothing else.

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "amity/base/types.hpp"

namespace amity {

struct code_address {
  std::uint32_t module = 0;  ///< hash that recognizes the module
  std::uint32_t offset = 0;  ///< from its beginning

  bool operator==(const code_address&) const = default;
};

/// Registers a function from its construction until its destruction. An object of static storage duration in a program
/// or library does so from the moment when that is loaded until it is unloaded. From any thread.
class registered_function : private immovable {
 public:
  using function = void (*)();

  explicit registered_function(function which) noexcept;
  ~registered_function();

  function code() const noexcept { return code_; }

 private:
  friend class code_map;
  function code_;
  registered_function* previous_ = nullptr;
  registered_function* next_;
};

/// Returns the name of any function, for comparing it between ranks; nothing if it lies in no module (generated at run
/// time). Slow: it looks through all modules.
std::optional<code_address> find_code_address(registered_function::function code);

/// Translates registered functions. Each rank has its own, used by one thread at a time: it is a copy of the table of
/// the process, taken again after that has changed. A translation costs one atomic load and one lookup.
class code_map {
 public:
  using function = registered_function::function;

  /// Throws `error` if the function lies in no module (generated at run time).
  code_address encode(const registered_function& which);

  /// Throws `error` if this process has not registered such a function.
  function decode(code_address address);

 private:
  void update();
  bool copy_table();

  std::uint64_t version_ = 0;                              ///< of the table that was copied; 0: none
  std::unordered_map<function, code_address> addresses_;   ///< by function
  std::unordered_map<std::uint64_t, function> functions_;  ///< by module and offset
};

}  // namespace amity
