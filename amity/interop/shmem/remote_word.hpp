#pragma once

/// Atomics on words of any PE: those of the machine, wherever the word is. All are sequentially consistent, as programs
/// build locks of them.

#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "amity/fabric/remote_memory.hpp"
#include "amity/interop/shmem/far_memory.hpp"
#include "amity/interop/shmem/process.hpp"

namespace amity::shmem {

// An operation as the machine has it, and as it travels.

struct load_word {
  static constexpr auto code = fabric::atomic_op::fetch;
  template <class T>
  static T apply(std::atomic_ref<T> at, T, T) {
    return at.load();
  }
};
struct store_word {
  static constexpr auto code = fabric::atomic_op::swap;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    at.store(value);
    return value;
  }
};
struct swap_word {
  static constexpr auto code = fabric::atomic_op::swap;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    return at.exchange(value);
  }
};
struct compare_swap_word {
  static constexpr auto code = fabric::atomic_op::compare_swap;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T expected) {
    at.compare_exchange_strong(expected, value);
    return expected;
  }
};
struct add_to_word {
  static constexpr auto code = fabric::atomic_op::add;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    return at.fetch_add(value);
  }
};
struct and_word {
  static constexpr auto code = fabric::atomic_op::bit_and;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    return at.fetch_and(value);
  }
};
struct or_word {
  static constexpr auto code = fabric::atomic_op::bit_or;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    return at.fetch_or(value);
  }
};
struct xor_word {
  static constexpr auto code = fabric::atomic_op::bit_xor;
  template <class T>
  static T apply(std::atomic_ref<T> at, T value, T) {
    return at.fetch_xor(value);
  }
};

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
fabric::atomic_request request_of(fabric::atomic_op operation, T value, T expected) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return {.op = operation,
          .bytes = sizeof(T),
          .operand = std::bit_cast<bits_of<T>>(value),
          .expected = std::bit_cast<bits_of<T>>(expected)};
}

template <class T>
[[gnu::noinline, gnu::cold]] T fetch_far_word(const char* call, fabric::atomic_op operation, T* at, int pe, T value,
                                              T expected) {
  const std::uint64_t before = self.far->fetch(call, at, request_of(operation, value, expected), pe);
  return std::bit_cast<T>(static_cast<bits_of<T>>(before));
}

template <class T>
[[gnu::noinline, gnu::cold]] void change_far_word(const char* call, fabric::atomic_op operation, T* at, int pe,
                                                  T value) {
  self.far->atomic(call, at, request_of(operation, value, value), pe);
  self.far->send(pe);
}

/// Applies an operation to a word of PE `pe`; returns what was there before.
template <class Operation, class T>
[[gnu::always_inline]] inline T fetch_word(const char* call, T* at, int pe, T value = {}, T expected = {}) {
  T* const there = reach(call, at, pe);
  if (there != nullptr) [[likely]]
    return Operation::apply(std::atomic_ref<T>(*there), value, expected);
  return fetch_far_word(call, Operation::code, at, pe, value, expected);
}

/// The same for callers who need no answer.
template <class Operation, class T>
[[gnu::always_inline]] inline void change_word(const char* call, T* at, int pe, T value) {
  T* const there = reach(call, at, pe);
  if (there != nullptr) [[likely]] {
    Operation::apply(std::atomic_ref<T>(*there), value, value);
    return;
  }
  change_far_word(call, Operation::code, at, pe, value);
}

}  // namespace amity::shmem
