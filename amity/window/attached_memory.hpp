#pragma once

/// The pieces of memory that a rank has attached to a dynamic window. Pieces may overlap: a byte belongs to the window
/// as long as one piece contains it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "amity/base/types.hpp"
#include "amity/window/layout.hpp"

namespace amity::detail {

/// Any thread may call it: with a progress thread, one thread changes the pieces and another one looks at them.
class attached_memory final : private immovable {
 public:
  /// What an error about `find_problem` advises.
  static constexpr std::string_view remedy =
      "attach memory before other ranks use it, and detach it after the synchronization that ends their operations";

  /// From `begin` to `end`, which is larger.
  void attach(std::uint64_t begin, std::uint64_t end);
  /// Removes the piece that begins here. If several do, it removes the one that was attached last. False: no piece
  /// does.
  bool detach(std::uint64_t begin);

  /// What an error says if some bytes of an operation are not attached; empty: all are. `blocks` are at `at`, and the
  /// operation uses `bytes` of their data from `from` on; null: it uses `bytes` at `at`.
  std::string find_problem(std::uint64_t at, std::size_t bytes, const layout* blocks, std::size_t from) const;
  std::string describe_nearest(std::uint64_t address) const;

 private:
  bool covers(std::uint64_t begin, std::uint64_t bytes) const;
  std::string nearest_to(std::uint64_t address) const;
  void divide_at(std::uint64_t address);
  void join_at(std::uint64_t address);

  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, std::uint64_t> pieces_;  ///< the end, by the beginning
  /// How many pieces contain the bytes from a key to the next key. Neighbors differ, and the last one is 0: a search
  /// takes as long with pieces that overlap as without.
  std::map<std::uint64_t, std::size_t> counts_;
};

}  // namespace amity::detail
