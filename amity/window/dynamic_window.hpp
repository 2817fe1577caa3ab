#pragma once

/// Dynamic windows: each rank attaches memory while the window exists, and other ranks use it by its address.
/// (MPI-3.1, section 11.2.4.)
///
/// `world::create_dynamic_window` makes them. An operation names the target and the address of the element there, which
/// the target has sent to the origin, for example by a message. Element types may differ between operations:
/// `w.as<double>().put(target, address, 1.5)`. Epochs, completion and buffers are those of `window`.
///
/// `docs/windows.md` shows the use; `docs/contracts/window.md` has the rules.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "amity/window/window.hpp"
#include "amity/window/window_base.hpp"

namespace amity {

class dynamic_window : public window_base {
 public:
  /// `world` calls it.
  dynamic_window(core::team& of, const window_options& options)
      : window_base(std::make_unique<detail::window_core>(of, options)) {}

  /// Adds memory of this rank, which stays until it is detached or the window ends. Local: no other rank need call it.
  /// Pieces may overlap. Throws `error` for empty memory.
  template <class Element>
  void attach(std::span<Element> memory) {
    static_assert(std::is_trivially_copyable_v<Element> && !std::is_const_v<Element>,
                  "amity: memory of a window has elements that are trivially copyable and not const");
    constexpr std::size_t count_max = std::numeric_limits<std::size_t>::max() / sizeof(Element);
    core_->attach(memory.data(), memory.size() > count_max ? std::numeric_limits<std::size_t>::max()
                                                           : memory.size() * sizeof(Element));
  }
  /// Removes the piece that begins here. If several do, it removes the one that was attached last. Bytes that other
  /// pieces contain stay. Local. Throws `error` if no piece begins here.
  void detach(const void* base) { core_->detach(base); }
  /// What other ranks name this byte by.
  static std::uint64_t address_of(const void* byte) noexcept { return reinterpret_cast<std::uintptr_t>(byte); }

  /// The operations on elements of `Element`. Valid as long as the window.
  template <class Element>
  window_operations<Element, detail::addressing::bytes> as() const noexcept {
    return window_operations<Element, detail::addressing::bytes>(*core_);
  }
};

}  // namespace amity
