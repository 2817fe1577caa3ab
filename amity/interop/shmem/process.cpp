#include "amity/interop/shmem/process.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/interop/shmem/job.hpp"

namespace amity::shmem {

constinit process self;

void fail(const char* call, const char* problem, const char* remedy) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", error(call, self.me, problem, remedy).what());
  std::fflush(nullptr);
  if (self.joined != nullptr) self.joined->abort();
  // Not exit: what the program has registered there may wait for peers.
  ::_exit(1);
}

void fail_outside(const char* call) {
  if (self.now == phase::before) fail(call, "it is called before shmem_init", "call shmem_init first");
  fail(call, "it is called after shmem_finalize", "call shmem_finalize last");
}

void fail_pe(const char* call, int pe, int pes) {
  if (self.pes == 0) fail_outside(call);
  fail(call, fmt::format("there is no PE {}", pe).c_str(), fmt::format("use 0 to {}", pes - 1).c_str());
}

void fail_address(const char* call, const void* address) {
  fail(call, fmt::format("{} is no address of symmetric memory", address).c_str(),
       "use what shmem_malloc returns, or a global or static variable of the program itself; constants, variables of "
       "shared libraries and those of functions are not symmetric");
}

void fail_length(const char* call, const void* address, std::size_t bytes) {
  fail(call, fmt::format("{} bytes at {} are not all in symmetric memory", bytes, address).c_str(),
       "name objects that lie in what shmem_malloc has returned, or in one variable");
}

void report_stall(double seconds, std::string_view waits_for) {
  log_warning(self.me, fmt::format("no progress for {:.0f} s in {}", seconds, waits_for));
}

std::size_t strided_bytes(const char* call, std::size_t count, std::ptrdiff_t stride, std::size_t bytes) {
  if (stride < 1) [[unlikely]]
    fail(call, fmt::format("a stride of {} elements", stride).c_str(), "use one of at least 1");
  std::size_t between = 0;
  if (__builtin_mul_overflow(count - 1, static_cast<std::size_t>(stride), &between) ||
      __builtin_mul_overflow(between, bytes, &between) || __builtin_add_overflow(between, bytes, &between)) [[unlikely]]
    fail(call, fmt::format("{} elements with a stride of {}", count, stride).c_str(), "no memory has so many");
  return between;
}

void check_far(const char* call, const volatile void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (!self.heap.holds(at) && !self.statics.holds(at)) fail_address(call, const_cast<const void*>(address));
}

void progress() {
  if (self.joined != nullptr) self.joined->look_seldom();
}

void* node_substrate::allocate(std::size_t bytes) { return self.joined->share(bytes); }
void node_substrate::put_far(void* dest, const void* from, std::size_t bytes, int pe) {
  self.far->put("shmemx_am_request", dest, from, bytes, pe, core::tracking::otherwise);
}
void node_substrate::send_far(int pe) { self.far->send(pe); }
void node_substrate::wait(function_ref<bool()> done, const char* what, int pe) {
  self.joined->wait(
      done, [] { return self.joined->make_progress(); },
      [&] { return pe < 0 ? std::string(what) : fmt::format("{} {}", what, pe); });
}

}  // namespace amity::shmem
