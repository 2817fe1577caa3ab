#include "amity/fabric/sim/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/sim/sanitizers.hpp"

namespace amity::fabric::sim {
namespace {

namespace context = boost::context::detail;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The exceptions that are being handled belong to a flow of control, but the C++ runtime keeps them with the thread (in
// two words, by the Itanium C++ ABI). Whoever waits inside a catch block must find its own again.
struct exception_state {
  void* caught;
  std::uint64_t uncaught_count;

  static exception_state load() noexcept {
    exception_state state;
    std::memcpy(&state, static_cast<const void*>(abi::__cxa_get_globals()), sizeof state);
    return state;
  }
  void store() const noexcept { std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), this, sizeof *this); }
};

}  // namespace

stack_pool::stack_pool(std::size_t stacks, std::size_t stack_bytes)
    : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      stride_bytes_(round_up(stack_bytes, page_bytes_) + page_bytes_),
      total_bytes_(stride_bytes_ * stacks),
      stacks_(stacks) {
  const auto refuse = [&](int cause) {
    throw error(
        "sim::run", no_rank,
        fmt::format("no address space for {} stacks of {} bytes: {}", stacks, stack_bytes, std::strerror(cause)),
        "use fewer ranks or a smaller AMITY_SIM_STACK_BYTES, or raise vm.max_map_count (two a rank)");
  };
  void* region = ::mmap(nullptr, total_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (region == MAP_FAILED) refuse(errno);
  base_ = static_cast<std::byte*>(region);
  for (std::size_t i = 0; i < stacks; ++i) {
    if (::mprotect(base_ + i * stride_bytes_, page_bytes_, PROT_NONE) != 0) {
      const int cause = errno;
      ::munmap(base_, total_bytes_);
      refuse(cause);
    }
  }
}

stack_pool::~stack_pool() {
  mark_usable(base_, total_bytes_);
  ::munmap(base_, total_bytes_);
}

mutable_bytes stack_pool::take() noexcept {
  std::byte* low;
  if (used_.empty()) {
    AMITY_ASSERT(fresh_ < stacks_, stacks_);
    low = base_ + fresh_++ * stride_bytes_ + page_bytes_;
  } else {
    low = used_.back();
    used_.pop_back();
  }
  // Tops at one offset in their pages would meet in a few sets of the caches: they are staggered.
  const std::size_t index = static_cast<std::size_t>(low - base_) / stride_bytes_;
  const std::size_t stagger = index * cache_line_bytes % page_bytes_;
  return {low, stride_bytes_ - page_bytes_ - stagger};
}

void stack_pool::give_back(mutable_bytes stack) noexcept {
  // Its last frames never returned, so their red zones are still in place.
  mark_usable(stack.data(), stack.size());
  used_.push_back(stack.data());
}

void stack_pool::describe(running_lane& to) const noexcept {
  to.stacks_begin = reinterpret_cast<std::uintptr_t>(base_);
  to.stacks_end = to.stacks_begin + total_bytes_;
  to.stride_bytes = stride_bytes_;
  to.guard_bytes = page_bytes_;
}

fiber::fiber() noexcept {
#ifdef AMITY_SIM_THREAD_SANITIZER
  thread_sanitizer_fiber_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(stack_pool& stacks, body run) noexcept : stacks_(&stacks), run_(std::move(run)) {}

fiber::~fiber() { AMITY_ASSERT(stacks_ == nullptr || stack_.empty()); }

void fiber::switch_to(fiber& next) noexcept {
  const exception_state mine = exception_state::load();
  void* fake_stack = nullptr;
  const auto from = leave_for(next, &fake_stack);
  arrive(from, fake_stack);
  mine.store();
}

void fiber::enter(context::transfer_t from) noexcept {
  fiber& self = *static_cast<fiber*>(from.data)->next_;
  self.arrive(from, nullptr);
  exception_state{}.store();
  fiber& next = self.run_();
  self.ended_ = true;
  self.leave_for(next, nullptr);
  AMITY_ASSERT(!"a fiber that has ended was switched to");
  std::abort();
}

// `fake_stack` is null if this fiber will not come back.
context::transfer_t fiber::leave_for(fiber& next, [[maybe_unused]] void** fake_stack) noexcept {
  if (next.context_ == nullptr) next.prepare();
  next_ = &next;
#ifdef AMITY_SIM_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(fake_stack, next.stack_.data(), next.stack_.size());
#endif
#ifdef AMITY_SIM_THREAD_SANITIZER
  __tsan_switch_to_fiber(next.thread_sanitizer_fiber_, 0);
#endif
  return context::jump_fcontext(std::exchange(next.context_, nullptr), this);
}

// Takes a stack, so that the fiber can be switched to for the first time.
void fiber::prepare() noexcept {
  AMITY_ASSERT(stacks_ != nullptr && !ended_);
  stack_ = stacks_->take();
  context_ = context::make_fcontext(stack_.data() + stack_.size(), stack_.size(), &fiber::enter);
#ifdef AMITY_SIM_THREAD_SANITIZER
  thread_sanitizer_fiber_ = __tsan_create_fiber(0);
#endif
}

void fiber::arrive(context::transfer_t from, [[maybe_unused]] void* fake_stack) noexcept {
  fiber& previous = *static_cast<fiber*>(from.data);
#ifdef AMITY_SIM_ADDRESS_SANITIZER
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &bottom, &bytes);
  // The only way to learn the bounds of a stack that is not ours.
  if (previous.stacks_ == nullptr) {
    previous.stack_ = {const_cast<std::byte*>(static_cast<const std::byte*>(bottom)), bytes};
  }
#endif
  if (previous.ended_) {
    previous.release_stack();
  } else {
    previous.context_ = from.fctx;
  }
}

// Runs on the next fiber: nobody stands on the stack any more.
void fiber::release_stack() noexcept {
#ifdef AMITY_SIM_THREAD_SANITIZER
  __tsan_destroy_fiber(thread_sanitizer_fiber_);
#endif
  stacks_->give_back(stack_);
  stack_ = {};
}

}  // namespace amity::fabric::sim
