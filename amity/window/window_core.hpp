#pragma once

/// A window without the type of its elements. What mapped memory permits at once is inline; the rest is
/// `window_epochs`.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "amity/base/types.hpp"
#include "amity/window/active_message.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/options.hpp"
#include "amity/window/window_operation.hpp"

namespace amity::core {
class team;
}  // namespace amity::core

namespace amity::detail {

class window_epochs;
struct memory_of_window;
struct window_group;

class window_core final : private immovable {
 public:
  /// `own`: memory of the program; none: allocates `bytes`. Collective. Throws `error`.
  window_core(core::team& of, std::optional<mutable_bytes> own, std::size_t bytes, std::size_t element_bytes,
              const window_options& options);
  /// A shared window, whose members all map the memory. Collective. Throws `error` on all members if they do not.
  window_core(core::team& of, std::size_t bytes, std::size_t element_bytes, shared_placement where,
              const window_options& options);
  /// A dynamic window: offsets are addresses in memory that is attached. Collective. Throws `error`.
  window_core(core::team& of, const window_options& options);
  /// A window of a group of ranks. Collective among them. Throws `error`.
  window_core(core::team& of, const memory_of_window& memory, const window_options& options,
              const window_group& members);
  /// A window after its move to another object: functions throw `error`.
  window_core();
  /// Collective, outside epochs, unless it is abandoned.
  ~window_core();
  /// From now on the end of the window waits for no other member, and its memory stays until the engine ends. For the
  /// end of a job, after the last use of the window.
  void abandon() noexcept;

  mutable_bytes memory() const;
  /// The memory of a member, if this rank maps it; else nothing. Throws `error` if its first use of the member fails.
  mutable_bytes mapped(rank_t member);
  const std::string& name() const;

  bool is_between_epochs() const noexcept;
  /// Throws `error` of `call` if the window must not end now, because an epoch is open.
  void check_end(std::string_view call);
  /// Throws `error` of `call` if this rank has not called `lock` for the target, or `lock_all`.
  void check_lock(std::string_view call, rank_t target);
  /// Throws `error` of `call` if this rank must not begin operations on the target now.
  void check_operation(std::string_view call, rank_t target);

  /// Memory of this rank, if the window is dynamic.
  void attach(const void* base, std::size_t bytes);
  void detach(const void* base);

  void fence(window_assert promised);
  void start(std::span<const rank_t> targets, window_assert promised);
  void complete();
  void post(std::span<const rank_t> origins, window_assert promised);
  void wait();
  bool test();
  void lock(lock_kind kind, rank_t target, window_assert promised);
  void unlock(rank_t target);
  void lock_all(window_assert promised);
  void unlock_all();
  void sync() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (is_round_due()) poll("window::sync");
  }
  void flush(rank_t target) {
    if (direct_.unfinished || !direct_.may_flush || direct_.find(target, 0, 0) == nullptr) [[unlikely]]
      return flush_slowly(target);
    direct_.fence_stores();
  }
  void flush_all() {
    if (direct_.unfinished || !direct_.may_flush) [[unlikely]]
      return flush_all_slowly();
    direct_.fence_stores();
  }
  void flush_local(rank_t target) {
    if (direct_.unfinished || !direct_.may_flush) [[unlikely]]
      flush_local_slowly(target);
  }
  void flush_local_all() {
    if (direct_.unfinished || !direct_.may_flush) [[unlikely]]
      flush_local_all_slowly();
  }

  /// From now on, this rank alone carries out accumulates in its memory. Local.
  void take_over_accumulates();

  /// Where the caller reads the bytes of a member; null: call `begin`.
  std::byte* direct_for_get(rank_t target, std::uint64_t at, std::size_t bytes) {
    if (is_round_due()) [[unlikely]]
      make_progress();
    return direct_.find(target, at, bytes);
  }
  /// As `direct_for_get`, for a caller that stores there.
  std::byte* direct(rank_t target, std::uint64_t at, std::size_t bytes) {
    direct_.stored = true;
    return direct_for_get(target, at, bytes);
  }
  /// As `direct`, for puts, which can also join the one before, in a packet.
  std::byte* direct_for_put(rank_t target, std::uint64_t at, std::size_t bytes) {
    if (std::byte* const joined = direct_.try_continue(target, at, bytes); joined != nullptr) return joined;
    return direct(target, at, bytes);
  }
  /// Calls `apply` with the address of an element of a member, if this rank may accumulate there at once. Accumulates
  /// must not overtake those that travel as records. Returns false if it has not been called: call `begin`.
  template <class Apply>
  bool try_accumulate(rank_t target, std::uint64_t at, std::size_t bytes, Apply apply) {
    if (direct_.records_accumulate) return false;
    direct_.stored = true;
    if (is_round_due()) [[unlikely]]
      make_progress();
    const direct_access::target* const to = direct_.targets.find(target);
    if (!direct_.may_use(to, at, bytes)) return false;
    std::byte* const there = to->base + at;
    // Instructions of the processor need addresses that are multiples of the size. `begin` reports others.
    if (reinterpret_cast<std::uintptr_t>(there) % bytes != 0) return false;
    return direct_.accumulates.try_apply(to->words, target, [&] { apply(there); });
  }
  /// Whether what this rank has given for operations on a member may change, and what it has asked for is there.
  /// Makes progress, as long as not.
  bool test_local(rank_t target);
  void wait_local(rank_t target);
  /// As `test_local`, without progress, for a caller that is inside the engine.
  bool is_complete_here(rank_t target) noexcept;
  /// Numbers of elements that a program has given, of all segments.
  struct message_shape {
    bool is_vector_call;
    bool is_vector_operation;
    std::size_t segments;
    std::size_t inputs;
    std::size_t outputs;
    std::size_t counts;
    bool has_null;         ///< a null pointer to elements
    std::size_t elements;  ///< of persistent memory
    std::size_t element_bytes;
  };
  /// Throws `error` of `call` if they do not fit together.
  void check_message(std::string_view call, const message_shape& of) const;
  void send_message(std::string_view call, rank_t target, am_message what);
  /// The message has all but its description.
  void send_message(std::string_view call, rank_t target, const am_description& about, am_message what);
  void attach_buffer(mutable_bytes memory);
  void detach_buffer(const void* base);
  am_counters counters_of(rank_t target);
  void begin(std::string_view call, window_operation what);
  /// As `begin`, for operands that do not outlive the call.
  void begin_copied(std::string_view call, window_operation what);
  /// As `begin`, for data of the origin in blocks.
  void begin_in_blocks(std::string_view call, window_operation what, const origin_layouts& own);

 private:
  static constexpr std::uint32_t calls_per_round = 64;

  /// Throws `error` of `call` if this window has moved elsewhere.
  window_epochs& epochs(std::string_view call) const;

  bool is_round_due() noexcept {
    const std::uint32_t calls = direct_calls_ + 1;  // calls of several threads can count as one
    direct_calls_ = calls;
    return calls % calls_per_round == 0;
  }
  void make_progress();
  void poll(std::string_view call);
  void flush_slowly(rank_t target);
  void flush_all_slowly();
  void flush_local_slowly(rank_t target);
  void flush_local_all_slowly();

  direct_access direct_;
  shared_value<std::uint32_t> direct_calls_;
  std::unique_ptr<window_epochs> epochs_;
};

}  // namespace amity::detail

namespace amity {

/// An operation of a window that was begun by one of the request forms. It is complete when its buffers may be used
/// again and what it gets is there; at the target it is complete after a flush or the end of the epoch. Operations on
/// the same target that came before it are waited for, too. The window must outlive it.
class window_request {
 public:
  window_request(detail::window_core& on, rank_t target) : on_(&on), target_(target) {}

  /// Whether it is complete; makes progress if not.
  bool test() { return on_->test_local(target_); }
  void wait() { on_->wait_local(target_); }

 private:
  detail::window_core* on_;
  rank_t target_;
};

}  // namespace amity
