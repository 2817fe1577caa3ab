#pragma once

/// One-sided windows: memory of each rank of a world that the others read and write without its help.
///
/// `world::allocate_window<Element>` and `world::create_window` make them. Indices and counts are elements of `Element`
/// in the memory of the target. Operations are legal in an access epoch: after `fence`, between `start` and `complete`,
/// or while a lock is held. What an operation names, buffers and layouts, stays as it is until the epoch ends, or until
/// `flush_local` or `flush`; single values are copied. All calls are for the thread that has made the window, outside
/// handlers. They throw `error` for ranks and places that are not there and for calls that the epoch does not permit;
/// then nothing has happened. (MPI-3.1, chapter 11; B. W. Barrett, G. M. Shipman and A. Lumsdaine, "Analysis of
/// Implementation Options for MPI-2 One-Sided", EuroPVM/MPI 2007.)
///
/// `docs/windows.md` shows the use; `docs/contracts/window.md` has the rules.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/types.hpp"
#include "amity/window/accumulate.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/layout_span.hpp"
#include "amity/window/window_base.hpp"
#include "amity/window/window_core.hpp"

namespace amity {

namespace detail {
/// How operations name elements of a target: by their number in its memory, or by bytes from its beginning. The memory
/// of a dynamic window begins at address 0.
enum class addressing : std::uint8_t { index, bytes };
}  // namespace detail

/// The operations on elements of `Element`. Those of `window::as` and of dynamic windows name places by bytes: each
/// `index` is an offset or an address then.
template <class Element, detail::addressing By>
class window_operations {
  static_assert(std::is_trivially_copyable_v<Element>, "amity: the elements of a window are trivially copyable");

 public:
  /// A window calls it, and outlives this.
  explicit window_operations(detail::window_core& on) noexcept : core_(&on) {}

  void put(rank_t target, std::size_t index, std::span<const Element> from) {
    if (std::byte* const there = core_->direct_for_put(target, offset_of(index), from.size_bytes())) [[likely]]
      return copy_bytes(there, reinterpret_cast<const std::byte*>(from.data()), from.size_bytes());
    core_->begin("window::put", {.kind = detail::operation_kind::put,
                                 .target = target,
                                 .at = offset_of(index),
                                 .from = std::as_bytes(from),
                                 .index_bytes = index_bytes});
  }
  void put(rank_t target, std::size_t index, const Element& value) {
    if (std::byte* const there = core_->direct_for_put(target, offset_of(index), sizeof(Element))) [[likely]] {
      std::memcpy(there, &value, sizeof(Element));
      return;
    }
    core_->begin_copied("window::put", {.kind = detail::operation_kind::put,
                                        .target = target,
                                        .at = offset_of(index),
                                        .from = std::as_bytes(std::span(&value, 1)),
                                        .index_bytes = index_bytes});
  }
  void get(rank_t target, std::size_t index, std::span<Element> into) {
    if (const std::byte* const there = core_->direct_for_get(target, offset_of(index), into.size_bytes())) [[likely]]
      return copy_bytes(reinterpret_cast<std::byte*>(into.data()), there, into.size_bytes());
    core_->begin("window::get", {.kind = detail::operation_kind::get,
                                 .target = target,
                                 .at = offset_of(index),
                                 .into = std::as_writable_bytes(into),
                                 .index_bytes = index_bytes});
  }
  void get(rank_t target, std::size_t index, Element& into) { get(target, index, std::span(&into, 1)); }

  /// Use data in the blocks of a layout whose address is that of the element `index`, as the other forms with a layout.
  /// The data of `from` or `into`, which may be in blocks, too, has as many bytes, in the order of the blocks.
  void put(rank_t target, std::size_t index, std::shared_ptr<const layout> there, layout_span<const Element> from) {
    core_->begin_in_blocks("window::put",
                           {.kind = detail::operation_kind::put,
                            .target = target,
                            .at = offset_of(index),
                            .from = from.data(),
                            .in_blocks = true,
                            .there = std::move(there),
                            .index_bytes = index_bytes},
                           {.from = from.blocks()});
  }
  void get(rank_t target, std::size_t index, std::shared_ptr<const layout> there, layout_span<Element> into) {
    core_->begin_in_blocks("window::get",
                           {.kind = detail::operation_kind::get,
                            .target = target,
                            .at = offset_of(index),
                            .into = into.data(),
                            .in_blocks = true,
                            .there = std::move(there),
                            .index_bytes = index_bytes},
                           {.into = into.blocks()});
  }

  /// Combines elements of the target with operands, each atomically with regard to other accumulates of the same type.
  /// Accumulates of one origin are carried out in its order.
  void accumulate(accumulate_op op, rank_t target, std::size_t index,
                  std::span<const Element> operands) requires window_element<Element> {
    combine("window::accumulate", op, target, index, operands, {});
  }
  void accumulate(accumulate_op op, rank_t target, std::size_t index,
                  const Element& operand) requires window_element<Element> {
    fetch("window::accumulate", op, target, index, operand, {});
  }
  void accumulate(accumulate_op op, rank_t target, std::size_t index, std::shared_ptr<const layout> there,
                  layout_span<const Element> operands) requires window_element<Element> {
    combine("window::accumulate", op, target, index, std::move(there), operands, {});
  }
  /// Also gets what was there before. `operands` may be empty for `no_op`.
  void get_accumulate(accumulate_op op, rank_t target, std::size_t index, std::span<const Element> operands,
                      std::span<Element> previous) requires window_element<Element> {
    combine("window::get_accumulate", op, target, index, operands, previous);
  }
  void get_accumulate(accumulate_op op, rank_t target, std::size_t index, std::shared_ptr<const layout> there,
                      layout_span<const Element> operands,
                      layout_span<Element> previous) requires window_element<Element> {
    combine("window::get_accumulate", op, target, index, std::move(there), operands, previous);
  }
  void fetch_and_op(accumulate_op op, rank_t target, std::size_t index, const Element& operand,
                    Element& previous) requires window_element<Element> {
    fetch("window::fetch_and_op", op, target, index, operand, std::span(&previous, 1));
  }
  /// Stores `desired` if the element has the bits of `expected`. Not for pairs, complex numbers, long double and
  /// float128_t.
  void compare_and_swap(rank_t target, std::size_t index, const Element& expected, const Element& desired,
                        Element& previous) requires window_element<Element> && detail::is_covered<Element> {
    const detail::swap_operands words{.expected = word_of(expected), .desired = word_of(desired)};
    const auto swap = [&](std::byte* there) {
      const std::uint64_t before = detail::compare_swap(there, sizeof(Element), words.expected, words.desired);
      std::memcpy(&previous, &before, sizeof(Element));
    };
    if (core_->try_accumulate(target, offset_of(index), sizeof(Element), swap)) [[likely]]
      return;
    core_->begin("window::compare_and_swap", {.kind = detail::operation_kind::compare_swap,
                                              .target = target,
                                              .at = offset_of(index),
                                              .into = std::as_writable_bytes(std::span(&previous, 1)),
                                              .index_bytes = index_bytes,
                                              .swap = words});
  }

  /// Runs a handler on the target. The message has `segments` segments of equal size: `input` has the elements of all
  /// of them, one segment after another, and so has `output`. The handler also gets `count` elements of the target's
  /// memory, from `index` on. `input` and `output` stay as they are until the call that completes the message: the end
  /// of the epoch, `flush` or `flush_local`, which also throws `error` if the handler has failed, or if a segment is
  /// larger than the buffers of the target (`window_base::attach_buffer`). Without segments, nothing happens.
  template <class In, class Out>
  void am(am_operation what, rank_t target, std::size_t index, std::size_t count, std::size_t segments,
          std::span<const In> input, std::span<Out> output) {
    send_message("window::am", what, false, target, index, count, segments, input, output, {});
  }
  /// Sends a message of a vector operation, as `am`: a segment has as many elements of output as the handler says, at
  /// most the size of a segment in `output`. `output_counts` has a number for each segment, which the call that
  /// completes the message fills. The output of each segment begins where it would in `am`.
  template <class In, class Out>
  void amv(am_operation what, rank_t target, std::size_t index, std::size_t count, std::size_t segments,
           std::span<const In> input, std::span<Out> output, std::span<std::uint32_t> output_counts) {
    send_message("window::amv", what, true, target, index, count, segments, input, output, output_counts);
  }

  /// The request forms, for epochs of locks.
  window_request rput(rank_t target, std::size_t index, std::span<const Element> from) {
    put(target, index, from);
    return {*core_, target};
  }
  window_request rput(rank_t target, std::size_t index, std::shared_ptr<const layout> there,
                      layout_span<const Element> from) {
    put(target, index, std::move(there), from);
    return {*core_, target};
  }
  window_request rget(rank_t target, std::size_t index, std::span<Element> into) {
    get(target, index, into);
    return {*core_, target};
  }
  window_request rget(rank_t target, std::size_t index, std::shared_ptr<const layout> there,
                      layout_span<Element> into) {
    get(target, index, std::move(there), into);
    return {*core_, target};
  }
  window_request raccumulate(accumulate_op op, rank_t target, std::size_t index,
                             std::span<const Element> operands) requires window_element<Element> {
    accumulate(op, target, index, operands);
    return {*core_, target};
  }
  window_request raccumulate(accumulate_op op, rank_t target, std::size_t index, std::shared_ptr<const layout> there,
                             layout_span<const Element> operands) requires window_element<Element> {
    accumulate(op, target, index, std::move(there), operands);
    return {*core_, target};
  }
  window_request rget_accumulate(accumulate_op op, rank_t target, std::size_t index, std::span<const Element> operands,
                                 std::span<Element> previous) requires window_element<Element> {
    get_accumulate(op, target, index, operands, previous);
    return {*core_, target};
  }
  window_request rget_accumulate(accumulate_op op, rank_t target, std::size_t index,
                                 std::shared_ptr<const layout> there, layout_span<const Element> operands,
                                 layout_span<Element> previous) requires window_element<Element> {
    get_accumulate(op, target, index, std::move(there), operands, previous);
    return {*core_, target};
  }

 private:
  static constexpr std::uint32_t index_bytes = By == detail::addressing::bytes ? 1 : sizeof(Element);

  /// In bytes. What is too large is out of range of any window.
  static std::uint64_t offset_of(std::size_t index) noexcept {
    if constexpr (By == detail::addressing::bytes) return index;
    return index > SIZE_MAX / sizeof(Element) ? SIZE_MAX : index * sizeof(Element);
  }
  template <class Item>
  static bool is_null(std::span<Item> of) noexcept {
    return of.data() == nullptr && !of.empty();
  }
  static std::uint64_t word_of(const Element& value) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(Element));
    return word;
  }
  template <class In, class Out>
  void send_message(std::string_view call, am_operation what, bool is_vector, rank_t target, std::size_t index,
                    std::size_t count, std::size_t segments, std::span<const In> input, std::span<Out> output,
                    std::span<std::uint32_t> output_counts) {
    static_assert(std::is_trivially_copyable_v<In> && std::is_trivially_copyable_v<Out>,
                  "amity: input and output of active messages are trivially copyable");
    core_->check_message(call, {.is_vector_call = is_vector,
                                .is_vector_operation = what.is_vector,
                                .segments = segments,
                                .inputs = input.size(),
                                .outputs = output.size(),
                                .counts = output_counts.size(),
                                .has_null = is_null(input) || is_null(output) || is_null(output_counts),
                                .elements = count,
                                .element_bytes = sizeof(Element)});
    const std::size_t per_segment = segments == 0 ? 0 : input.size() / segments;
    const std::size_t outputs = segments == 0 ? 0 : output.size() / segments;
    const auto side = []<class Item>(std::size_t elements, std::type_identity<Item>) -> detail::am_side {
      const std::uint64_t bytes = elements * sizeof(Item);
      return {.packed_bytes = bytes, .footprint = bytes, .alignment = alignof(Item)};
    };
    core_->send_message(call, target,
                        {.operation = what.number,
                         .count_max = is_vector ? static_cast<std::uint32_t>(outputs) : 0,
                         .input = side(per_segment, std::type_identity<In>()),
                         .output = side(outputs, std::type_identity<Out>()),
                         .persistent_bytes = count * sizeof(Element)},
                        {.at = offset_of(index),
                         .index_bytes = index_bytes,
                         .segments = segments,
                         .input = reinterpret_cast<const std::byte*>(input.data()),
                         .output = reinterpret_cast<std::byte*>(output.data()),
                         .output_counts = output_counts.data()});
  }
  void combine(std::string_view call, accumulate_op op, rank_t target, std::size_t index,
               std::span<const Element> operands, std::span<Element> previous) {
    core_->begin(call, {.kind = detail::operation_kind::accumulate,
                        .target = target,
                        .at = offset_of(index),
                        .from = std::as_bytes(operands),
                        .into = std::as_writable_bytes(previous),
                        .op = op,
                        .type = element_type_of<Element>,
                        .index_bytes = index_bytes});
  }
  void combine(std::string_view call, accumulate_op op, rank_t target, std::size_t index,
               std::shared_ptr<const layout> there, const layout_span<const Element>& operands,
               const layout_span<Element>& previous) {
    core_->begin_in_blocks(call,
                           {.kind = detail::operation_kind::accumulate,
                            .target = target,
                            .at = offset_of(index),
                            .from = operands.data(),
                            .into = previous.data(),
                            .in_blocks = true,
                            .there = std::move(there),
                            .op = op,
                            .type = element_type_of<Element>,
                            .index_bytes = index_bytes},
                           {.from = operands.blocks(), .into = previous.blocks()});
  }
  void fetch(std::string_view call, accumulate_op op, rank_t target, std::size_t index, const Element& operand,
             std::span<Element> previous) {
    if constexpr (detail::is_covered<Element>) {
      if (const accumulate_function function = find_accumulate(op, element_type_of<Element>)) [[likely]] {
        const auto apply = [&](std::byte* there) {
          function(there, reinterpret_cast<const std::byte*>(&operand), reinterpret_cast<std::byte*>(previous.data()),
                   1);
        };
        if (core_->try_accumulate(target, offset_of(index), sizeof(Element), apply)) [[likely]]
          return;
      }
    }
    core_->begin_copied(call, {.kind = detail::operation_kind::accumulate,
                               .target = target,
                               .at = offset_of(index),
                               .from = std::as_bytes(std::span(&operand, 1)),
                               .into = std::as_writable_bytes(previous),
                               .op = op,
                               .type = element_type_of<Element>,
                               .index_bytes = index_bytes});
  }

  detail::window_core* core_;
};

template <class Element>
class window : public window_base, public window_operations<Element, detail::addressing::index> {
  using operations = window_operations<Element, detail::addressing::index>;

 public:
  /// `world` calls it. `own`: memory of the program, which stays until the window ends.
  window(core::team& of, std::optional<std::span<Element>> own, std::size_t count, const window_options& options)
      : window(std::make_unique<detail::window_core>(
            of,
            own ? std::optional(mutable_bytes(reinterpret_cast<std::byte*>(own->data()), bytes_of(own->size())))
                : std::nullopt,
            bytes_of(count), sizeof(Element), options)) {}

  /// `world` calls it, for a shared window.
  window(core::team& of, std::size_t count, shared_placement where, const window_options& options)
      : window(std::make_unique<detail::window_core>(of, bytes_of(count), sizeof(Element), where, options)) {}

  /// Calls of a window that was moved elsewhere throw `error`.
  window(window&& from) : window_base(std::move(from)), operations(*window_base::core_) { from.follow_core(); }
  window& operator=(window&& from) {
    window_base::operator=(std::move(from));
    follow_core();
    from.follow_core();
    return *this;
  }

  /// The memory of this rank.
  std::span<Element> local() const { return elements(window_base::core_->memory()); }
  /// The memory of a rank of this node, which loads and stores reach; empty if they do not. In a shared window, they
  /// reach the memory of all ranks. Throws `error` for a rank that is not in the window, and if the system refuses to
  /// map the memory.
  std::span<Element> mapped(rank_t rank) const { return elements(window_base::core_->mapped(rank)); }
  /// The operations on elements of another type, at offsets in bytes. Valid as long as the window.
  template <class Other>
  window_operations<Other, detail::addressing::bytes> as() const noexcept {
    return window_operations<Other, detail::addressing::bytes>(*window_base::core_);
  }

 private:
  explicit window(std::unique_ptr<detail::window_core> core)
      : window_base(std::move(core)), operations(*window_base::core_) {}
  void follow_core() noexcept { operations::operator=(operations(*window_base::core_)); }
  static std::size_t bytes_of(std::size_t count) noexcept {
    return count > SIZE_MAX / sizeof(Element) ? SIZE_MAX : count * sizeof(Element);
  }
  static std::span<Element> elements(mutable_bytes of) noexcept {
    return {reinterpret_cast<Element*>(of.data()), of.size() / sizeof(Element)};
  }
};

}  // namespace amity
