#pragma once

/// The address of a function as a word that means the same function in another process of the same program.
///
/// The system loads a program and its libraries at addresses of their own in each process, but whole: the distance of a
/// function from the beginning of its module is the same everywhere. A module is recognised by its build id, or by
/// name and size where it has none.

#include <cstdint>
#include <vector>

namespace amity {

struct code_address {
  std::uint32_t module = 0;  ///< hash that recognises the module
  std::uint32_t offset = 0;  ///< from its beginning

  bool operator==(const code_address&) const = default;
};

/// The modules of this process: program and shared libraries. Not thread safe; each rank has its own.
class code_map {
 public:
  using function = void (*)();

  /// Throws `error` if the function lies in no module (made at run time).
  code_address encode(function code);

  /// Throws `error` if this process has no such module: the ranks run different programs.
  function decode(code_address address);

 private:
  struct module {
    std::uint32_t hash;
    std::uintptr_t base;
    std::uintptr_t code_begin;
    std::uintptr_t code_end;
  };

  void scan();
  const module* containing(std::uintptr_t address) const;
  const module* named(std::uint32_t hash) const;

  std::vector<module> modules_;
};

}  // namespace amity
