#pragma once

/// What all kinds of windows have in common: a name, and the calls that synchronise.

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/window/options.hpp"
#include "amity/window/window_core.hpp"

namespace amity {

class window_base {
 public:
  /// Calls of a window that was moved elsewhere throw `error`.
  window_base(window_base&& from) : core_(std::exchange(from.core_, std::make_unique<detail::window_core>())) {}
  window_base& operator=(window_base&& from) {
    if (this != &from) core_ = std::exchange(from.core_, std::make_unique<detail::window_core>());
    return *this;
  }

  const std::string& name() const { return core_->name(); }

  /// Ends the operations of all ranks since the last fence, and begins an epoch unless `no_succeed` is promised.
  /// Collective.
  void fence(window_assert promised = window_assert::none) { core_->fence(promised); }
  /// Begins an access epoch for the memory of these ranks, each of which calls `post`.
  void start(std::span<const rank_t> targets, window_assert promised = window_assert::none) {
    core_->start(targets, promised);
  }
  void complete() { core_->complete(); }
  /// Lets these ranks, each of which calls `start`, use the memory of this one until `wait` returns or `test` returns
  /// true.
  void post(std::span<const rank_t> origins, window_assert promised = window_assert::none) {
    core_->post(origins, promised);
  }
  void wait() { core_->wait(); }
  bool test() { return core_->test(); }
  /// Returns before the lock is there; the first operation that needs it waits, and so does the next call of lock.
  void lock(lock_kind kind, rank_t target, window_assert promised = window_assert::none) {
    core_->lock(kind, target, promised);
  }
  void unlock(rank_t target) { core_->unlock(target); }
  /// A shared lock of all ranks. Each is taken at the first operation there.
  void lock_all(window_assert promised = window_assert::none) { core_->lock_all(promised); }
  void unlock_all() { core_->unlock_all(); }
  /// Returns when all operations of this rank on the target have been carried out.
  void flush(rank_t target) { core_->flush(target); }
  void flush_all() { core_->flush_all(); }
  /// Returns when the buffers of these operations may be used again.
  void flush_local(rank_t target) { core_->flush_local(target); }
  void flush_local_all() { core_->flush_local_all(); }
  /// From its return until the window ends, accumulates (also `compare_and_swap`) of all ranks on the memory of this
  /// rank are carried out by this rank, in calls that make progress. Then the thread that carries them out, and
  /// handlers that run on it, may use elements by loads and stores while others accumulate. Local: no other rank need
  /// call it. Legal in any state, and without effect if called again. Throws `error` if the system refuses a memory
  /// fence that it permitted when the window was created.
  void take_over_accumulates() { core_->take_over_accumulates(); }
  /// Gives memory in which the target of active messages, this rank, keeps the input and the output of those that do
  /// not fit its system buffer. All origins share it. A rank has any number of such buffers; they do not overlap, and
  /// stay until they are detached or the window ends. Local, and legal in any state. Throws `error`.
  void attach_buffer(std::span<std::byte> memory) { core_->attach_buffer(memory); }
  /// `base`: of a buffer. Legal in any state, while no message uses the buffer; later ones use others. Throws `error`
  /// if one uses it, and changes nothing.
  void detach_buffer(const void* base) { core_->detach_buffer(base); }
  /// What active messages of this rank for the target have needed so far.
  am_counters counters_of(rank_t target) { return core_->counters_of(target); }
  /// Orders loads and stores of this rank before and after it, for memory that ranks use by loads and stores. Legal in
  /// any state. Completes no operation. In a loop it makes progress.
  void sync() { core_->sync(); }

 protected:
  explicit window_base(std::unique_ptr<detail::window_core> core) : core_(std::move(core)) {}

  std::unique_ptr<detail::window_core> core_;
};

}  // namespace amity
