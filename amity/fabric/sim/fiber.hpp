#pragma once

/// Stacks to run on, and switches between them that the sanitizers understand.
///
/// Built on Boost.Context's fcontext layer and not on `boost::context::fiber`: a fiber that has ended leaves for the
/// next one by the same kind of switch as any other, so that each switch can be announced to the address and thread
/// sanitizers, and there is no unwinding exception that a program's `catch (...)` could swallow.

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <functional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::fabric::sim {

/// Equal stacks, each with a guard page below it. Address space is reserved for all at once; memory is taken by the
/// pages that a fiber touches. A stack that was given back is the next to be used again.
class stack_pool : private immovable {
 public:
  /// Throws `amity::error` if the system refuses the address space.
  stack_pool(std::size_t stacks, std::size_t stack_bytes);
  ~stack_pool();

  /// At most as many as the pool was made for are out at a time.
  mutable_bytes take() noexcept;
  void give_back(mutable_bytes stack) noexcept;

  /// Writes down where the stacks are.
  void describe(running_lane& to) const noexcept;

 private:
  std::size_t page_bytes_;
  std::size_t stride_bytes_;
  std::size_t total_bytes_;
  std::byte* base_;
  std::size_t fresh_ = 0;  // stacks that were never used begin here
  std::size_t stacks_;
  std::vector<std::byte*> used_;
};

/// One flow of control. Not movable: others point to it while it is suspended.
class fiber : private immovable {
 public:
  /// What a fiber runs. It returns the fiber that goes on when this one has ended, and throws nothing.
  using body = std::function<fiber&()>;

  /// The caller's own flow of control, on its own stack.
  fiber() noexcept;

  /// A flow that begins with `run` when it is first switched to. Takes a stack from `stacks` then, and gives it back
  /// when it has ended.
  fiber(stack_pool& stacks, body run) noexcept;

  ~fiber();

  /// Suspends this fiber, which must be the running one, until another switches to it; `next` runs.
  void switch_to(fiber& next) noexcept;

 private:
  [[noreturn]] static void enter(boost::context::detail::transfer_t from) noexcept;
  boost::context::detail::transfer_t leave_for(fiber& next, void** fake_stack) noexcept;
  void arrive(boost::context::detail::transfer_t from, void* fake_stack) noexcept;
  void prepare() noexcept;
  void release_stack() noexcept;

  boost::context::detail::fcontext_t context_ = nullptr;  // where to go on; null while running
  stack_pool* stacks_ = nullptr;                          // null: the stack is not ours
  mutable_bytes stack_;
  body run_;
  fiber* next_ = nullptr;  // whom this fiber left for
  bool ended_ = false;
  void* thread_sanitizer_fiber_ = nullptr;
};

}  // namespace amity::fabric::sim
