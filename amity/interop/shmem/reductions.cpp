/// Reductions: each PE combines one part of all sources, and then takes the other parts of the result from the others.
///
/// All PEs get the same bits, as each part is combined by one of them, in the order of the PEs. The part of the result
/// that a PE writes is the part of its source that it alone reads, so that both may be one array.

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmem.h"

using namespace amity::shmem;

namespace {

// A type narrower than int is combined as an int: its result is cut off, as assignments do.
constexpr auto sum_of = [](auto a, auto b) {
  using value = decltype(a);
  if constexpr (std::is_integral_v<value>) {
    using bits = std::make_unsigned_t<value>;  // goes around where it overflows
    return static_cast<value>(static_cast<bits>(static_cast<bits>(a) + static_cast<bits>(b)));
  } else {
    return a + b;
  }
};
constexpr auto prod_of = [](auto a, auto b) {
  using value = decltype(a);
  if constexpr (std::is_integral_v<value>) {
    return static_cast<value>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
  } else {
    return a * b;
  }
};
constexpr auto min_of = [](auto a, auto b) { return b < a ? b : a; };
constexpr auto max_of = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto and_of = [](auto a, auto b) { return static_cast<decltype(a)>(a & b); };
constexpr auto or_of = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
constexpr auto xor_of = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };

template <class T, class Operation>
void combine_part(const char* call, const group& all, T* dest, const T* source, std::size_t begin, std::size_t end,
                  Operation operation) {
  std::array<T, 4096 / sizeof(T)> block;
  std::array<T, 4096 / sizeof(T)> fetched;
  for (; begin < end; begin += block.size()) {
    const std::size_t count = std::min(block.size(), end - begin);
    for (int member = 0; member < all.size; ++member) {
      const T* from = reach(call, source + begin, count * sizeof(T), all.world_pe(member));
      if (from == nullptr) {
        take(call, fetched.data(), source + begin, count * sizeof(T), all.world_pe(member));
        finish_taking();
        from = fetched.data();
      }
      if (member == 0) {
        std::copy_n(from, count, block.begin());
      } else {
        for (std::size_t i = 0; i < count; ++i) block[i] = operation(block[i], from[i]);
      }
    }
    std::copy_n(block.begin(), count, dest + begin);
  }
}

template <class T, class Operation>
void reduce(const char* call, const group& all, T* dest, const T* source, std::size_t count, Operation operation) {
  const auto members = static_cast<std::size_t>(all.size);
  const auto part_begin = [&](int member) { return count * static_cast<std::size_t>(member) / members; };
  check_dest(call, dest, bytes_of(count, sizeof(T)));
  sync(call, all, {"number of elements", count});
  combine_part(call, all, dest, source, part_begin(all.me), part_begin(all.me + 1), operation);
  sync(call, all);
  for (int i = 1; i < all.size; ++i) {
    const int member = (all.me + i) % all.size;
    const std::size_t begin = part_begin(member);
    take(call, dest + begin, dest + begin, (part_begin(member + 1) - begin) * sizeof(T), all.world_pe(member));
  }
  finish_taking();
  sync(call, all);
}

}  // namespace

#define DEFINE_REDUCE(type, name, operation)                                               \
  AMITY_SHMEM_DEFINE(int, name##_##operation##_reduce,                                     \
                     (shmem_team_t team, type * dest, const type* source, size_t count)) { \
    const char* const call = "shmem_" #name "_" #operation "_reduce";                      \
    reduce(call, team_of(call, team), dest, source, count, operation##_of);                \
    return 0;                                                                              \
  }
#define DEFINE_TO_ALL(type, name, operation)                                                                         \
  AMITY_SHMEM_DEFINE(                                                                                                \
      void, name##_##operation##_to_all,                                                                             \
      (type * dest, const type* source, int count, int start, int log_stride, int size, type*, long*)) {             \
    const char* const call = "shmem_" #name "_" #operation "_to_all";                                                \
    if (count < 0) fail(call, fmt::format("the count is {}", count).c_str(), "give a count of elements, 0 or more"); \
    reduce(call, active_set(call, start, log_stride, size), dest, source, static_cast<std::size_t>(count),           \
           operation##_of);                                                                                          \
  }

#define REDUCE_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(DEFINE_REDUCE, type, name)
#define REDUCE_ORDER(type, name) AMITY_SHMEM_EACH_ORDER(DEFINE_REDUCE, type, name)
#define REDUCE_SUM(type, name) AMITY_SHMEM_EACH_SUM(DEFINE_REDUCE, type, name)
AMITY_SHMEM_REDUCE_BITWISE_TYPES(REDUCE_BITWISE)
AMITY_SHMEM_REDUCE_ORDER_TYPES(REDUCE_ORDER)
AMITY_SHMEM_REDUCE_SUM_TYPES(REDUCE_SUM)

#define TO_ALL_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(DEFINE_TO_ALL, type, name)
#define TO_ALL_ORDER(type, name) AMITY_SHMEM_EACH_ORDER(DEFINE_TO_ALL, type, name)
#define TO_ALL_SUM(type, name) AMITY_SHMEM_EACH_SUM(DEFINE_TO_ALL, type, name)
AMITY_SHMEM_TO_ALL_BITWISE_TYPES(TO_ALL_BITWISE)
AMITY_SHMEM_TO_ALL_ORDER_TYPES(TO_ALL_ORDER)
AMITY_SHMEM_TO_ALL_SUM_TYPES(TO_ALL_SUM)
