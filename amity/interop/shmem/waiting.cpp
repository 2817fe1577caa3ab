/// Waiting for what others write to this PE's memory.

#include <atomic>
#include <cstdint>

#include <fmt/format.h>

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

template <class T>
T load(volatile T* variable) {
  // Acquire; pairs with the release of signals and atomics, and with the order of plain puts behind a fence.
  return std::atomic_ref(*const_cast<T*>(variable)).load(std::memory_order_acquire);
}

template <class T>
bool compare(const char* call, T now, int comparison, T value) {
  switch (comparison) {
    case SHMEM_CMP_EQ:
      return now == value;
    case SHMEM_CMP_NE:
      return now != value;
    case SHMEM_CMP_GT:
      return now > value;
    case SHMEM_CMP_LE:
      return now <= value;
    case SHMEM_CMP_LT:
      return now < value;
    case SHMEM_CMP_GE:
      return now >= value;
    default:
      fail(call, fmt::format("{} is no comparison", comparison).c_str(), "use one of SHMEM_CMP_EQ to SHMEM_CMP_GE");
  }
}

template <class T>
bool holds(const char* call, volatile T* variable, int comparison, T value) {
  return compare(call, load(variable), comparison, value);
}

const void* address(const volatile void* variable) { return const_cast<const void*>(variable); }

/// Waits for one variable, and returns what has satisfied the condition: a later value may not.
template <class T>
T wait_for(const char* call, volatile T* variable, int comparison, T value) {
  T seen = 0;
  running(call).wait_outside_handlers(
      call, [&] { return compare(call, seen = load(variable), comparison, value); },
      [&] { return fmt::format("{}: the variable at {} is {}", call, address(variable), seen); });
  return seen;
}

/// A number that has no pattern which a program could meet.
std::uint32_t draw() {
  // Threads may draw the same one.
  const std::atomic_ref drawn(self.drawn);
  const std::uint32_t next = drawn.load(std::memory_order_relaxed) * 1664525u + 1013904223u;
  drawn.store(next, std::memory_order_relaxed);
  return next >> 16;
}

/// Some variables, each with a value of its own or all with one; those with a status other than 0 do not count.
template <class T>
struct conditions {
  const char* call;
  volatile T* variables;
  std::size_t count;
  const int* status;
  int comparison;
  const T* values;
  bool one_value;

  bool counts(std::size_t i) const { return status == nullptr || status[i] == 0; }
  bool hold(std::size_t i) const { return holds(call, &variables[i], comparison, values[one_value ? 0 : i]); }

  bool none_counts() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (counts(i)) return false;
    }
    return true;
  }
  bool all() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (counts(i) && !hold(i)) return false;
    }
    return true;
  }
  /// One that holds; SIZE_MAX: none does. Of several each has its turn sometime, wherever the program asks else.
  std::size_t any() const {
    const std::size_t begin = count == 0 ? 0 : draw() % count;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = begin + k < count ? begin + k : begin + k - count;
      if (counts(i) && hold(i)) return i;
    }
    return SIZE_MAX;
  }
  std::size_t some(std::size_t* indices) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (counts(i) && hold(i)) indices[found++] = i;
    }
    return found;
  }

  auto description() const {
    return [this] { return fmt::format("{}: variables are to change, of {} at {}", call, count, address(variables)); };
  }

  // Where no variable counts there is nothing to wait for.
  void wait_all() const {
    running(call).wait_outside_handlers(
        call, [&] { return all(); }, description());
  }
  std::size_t wait_any() const {
    std::size_t found = SIZE_MAX;
    const bool nothing = none_counts();
    running(call).wait_outside_handlers(
        call, [&] { return (found = any()) != SIZE_MAX || nothing; }, description());
    return found;
  }
  std::size_t wait_some(std::size_t* indices) const {
    std::size_t found = 0;
    const bool nothing = none_counts();
    running(call).wait_outside_handlers(
        call, [&] { return (found = some(indices)) > 0 || nothing; }, description());
    return found;
  }
  // Programs that test in a loop make progress by that.
  const conditions& after_progress() const {
    running(call).look();
    return *this;
  }
};

}  // namespace

// Beside each function with one value is one with a vector of them.
#define DEFINE_ON_MANY(type, name, Result, body, before)                                                         \
  AMITY_SHMEM_DEFINE(Result, name, (before int comparison, type value)) {                                        \
    return conditions<type>{"shmem_" #name, variables, count, status, comparison, &value, true}.body;            \
  }                                                                                                              \
  AMITY_SHMEM_DEFINE(Result, name##_vector, (before int comparison, type* values)) {                             \
    return conditions<type>{"shmem_" #name "_vector", variables, count, status, comparison, values, false}.body; \
  }
#define VARIABLES(type) volatile type *variables, size_t count, const int *status,
#define INDEXED(type) volatile type *variables, size_t count, size_t *indices, const int *status,

#define DEFINE_WAITS(type, name)                                                                        \
  AMITY_SHMEM_DEFINE(void, name##_wait_until, (volatile type * variable, int comparison, type value)) { \
    wait_for<type>("shmem_" #name "_wait_until", variable, comparison, value);                          \
  }                                                                                                     \
  AMITY_SHMEM_DEFINE(void, name##_wait, (volatile type * variable, type value)) {                       \
    wait_for<type>("shmem_" #name "_wait", variable, SHMEM_CMP_NE, value);                              \
  }                                                                                                     \
  AMITY_SHMEM_DEFINE(int, name##_test, (volatile type * variable, int comparison, type value)) {        \
    running("shmem_" #name "_test").look();                                                             \
    return holds("shmem_" #name "_test", variable, comparison, value) ? 1 : 0;                          \
  }                                                                                                     \
  DEFINE_ON_MANY(type, name##_wait_until_all, void, wait_all(), VARIABLES(type))                        \
  DEFINE_ON_MANY(type, name##_wait_until_any, size_t, wait_any(), VARIABLES(type))                      \
  DEFINE_ON_MANY(type, name##_wait_until_some, size_t, wait_some(indices), INDEXED(type))               \
  DEFINE_ON_MANY(type, name##_test_all, int, after_progress().all(), VARIABLES(type))                   \
  DEFINE_ON_MANY(type, name##_test_any, size_t, after_progress().any(), VARIABLES(type))                \
  DEFINE_ON_MANY(type, name##_test_some, size_t, after_progress().some(indices), INDEXED(type))
AMITY_SHMEM_WAIT_TYPES(DEFINE_WAITS)

AMITY_SHMEM_DEFINE(void, wait, (volatile long* variable, long value)) { pshmem_long_wait(variable, value); }

AMITY_SHMEM_DEFINE(uint64_t, signal_wait_until, (uint64_t * signal, int comparison, uint64_t value)) {
  return wait_for("shmem_signal_wait_until", signal, comparison, value);
}
