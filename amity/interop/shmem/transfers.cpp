/// Puts and gets: copies where a peer's memory is mapped, and complete when they return, also those that need not be.

#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "amity/interop/shmem/far_memory.hpp"
#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/remote_word.hpp"
#include "amity/interop/shmem/team.hpp"

using namespace amity::shmem;

namespace {

/// Of no bytes, whose address may be null.
void nothing_to_do(const char* call, int pe) {
  check_pe(call, pe);
  seldom_progress();
}

void put_bytes(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return nothing_to_do(call, pe);
  if (void* const there = reach(call, dest, bytes, pe)) [[likely]] {
    std::memcpy(there, source, bytes);
  } else {
    self.far->put(call, dest, source, bytes, pe);
    self.far->send(pe);
  }
  seldom_progress();
}

void get_bytes(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return nothing_to_do(call, pe);
  if (const void* const there = reach(call, source, bytes, pe)) [[likely]] {
    std::memcpy(dest, there, bytes);
  } else {
    self.far->get(call, dest, source, bytes, pe);
  }
  seldom_progress();
}

void begin_get(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return nothing_to_do(call, pe);
  if (const void* const there = reach(call, source, bytes, pe)) [[likely]] {
    std::memcpy(dest, there, bytes);
  } else {
    self.far->begin_get(call, dest, source, bytes, pe);
    self.far->send(pe);
  }
  seldom_progress();
}

/// Copies `count` elements of `bytes` with strides, which count elements, by `copy(to, from)`.
template <class Copy>
void copy_strided(void* dest, const void* source, std::ptrdiff_t dest_stride, std::ptrdiff_t source_stride,
                  std::size_t count, std::size_t bytes, Copy copy) {
  auto* to = static_cast<std::byte*>(dest);
  const auto* from = static_cast<const std::byte*>(source);
  const auto size = static_cast<std::ptrdiff_t>(bytes);
  for (; count > 0; --count, to += dest_stride * size, from += source_stride * size) copy(to, from);
}

void put_strided(const char* call, void* dest, const void* source, std::ptrdiff_t dest_stride,
                 std::ptrdiff_t source_stride, std::size_t count, std::size_t bytes, int pe) {
  if (count == 0) return nothing_to_do(call, pe);
  if (void* const there = reach(call, dest, strided_bytes(call, count, dest_stride, bytes), pe)) [[likely]] {
    copy_strided(there, source, dest_stride, source_stride, count, bytes,
                 [bytes](void* to, const void* from) { std::memcpy(to, from, bytes); });
  } else {
    copy_strided(dest, source, dest_stride, source_stride, count, bytes,
                 [&](void* to, const void* from) { self.far->put(call, to, from, bytes, pe); });
    self.far->send(pe);
  }
  seldom_progress();
}

void get_strided(const char* call, void* dest, const void* source, std::ptrdiff_t dest_stride,
                 std::ptrdiff_t source_stride, std::size_t count, std::size_t bytes, int pe) {
  if (count == 0) return nothing_to_do(call, pe);
  if (const void* const there = reach(call, source, strided_bytes(call, count, source_stride, bytes), pe)) [[likely]] {
    copy_strided(dest, there, dest_stride, source_stride, count, bytes,
                 [bytes](void* to, const void* from) { std::memcpy(to, from, bytes); });
  } else {
    copy_strided(dest, source, dest_stride, source_stride, count, bytes,
                 [&](void* to, const void* from) { self.far->begin_get(call, to, from, bytes, pe); });
    self.far->finish_gets();
  }
  seldom_progress();
}

void put_signal(const char* call, void* dest, const void* source, std::size_t bytes, std::uint64_t* signal,
                std::uint64_t value, int operation, int pe) {
  if (operation != SHMEM_SIGNAL_SET && operation != SHMEM_SIGNAL_ADD) {
    fail(call, fmt::format("{} is no operation on signals", operation).c_str(),
         "use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD");
  }
  std::uint64_t* const there = reach(call, signal, pe);
  if (there == nullptr) [[unlikely]] {
    if (bytes > 0) self.far->put(call, dest, source, bytes, pe);
    // Both in one packet, if there is room.
    if (operation == SHMEM_SIGNAL_SET) {
      change_word<store_word>(call, signal, pe, value);
    } else {
      change_word<add_to_word>(call, signal, pe, value);
    }
    return seldom_progress();
  }
  put_bytes(call, dest, source, bytes, pe);
  // Release; pairs with the acquire of whoever waits for the signal, and then reads the data.
  if (operation == SHMEM_SIGNAL_SET) {
    std::atomic_ref(*there).store(value, std::memory_order_release);
  } else {
    std::atomic_ref(*there).fetch_add(value, std::memory_order_release);
  }
}

template <class T>
void put_value(const char* call, T* dest, T value, int pe) {
  // A store of its own, which whoever waits for the value sees whole.
  if (volatile T* const there = reach(call, dest, pe)) [[likely]] {
    *there = value;
  } else {
    self.far->put(call, dest, &value, sizeof value, pe);
    self.far->send(pe);
  }
  seldom_progress();
}

template <class T>
T get_value(const char* call, const T* source, int pe) {
  T value;
  if (const volatile T* const there = reach(call, source, pe)) [[likely]] {
    value = *there;
  } else {
    self.far->get(call, &value, source, sizeof value, pe);
  }
  seldom_progress();
  return value;
}

}  // namespace

// Stores are seen in their order, and what travels to a PE is carried out in its order.
AMITY_SHMEM_DEFINE(void, fence, ()) {
  running("shmem_fence");
  std::atomic_thread_fence(std::memory_order_release);
  seldom_progress();
}
AMITY_SHMEM_DEFINE(void, quiet, ()) {
  running("shmem_quiet");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (self.far != nullptr) self.far->quiet();
  seldom_progress();
}
AMITY_SHMEM_DEFINE(void, ctx_fence, (shmem_ctx_t context)) {
  if (context == SHMEM_CTX_INVALID) return;
  check_context("shmem_ctx_fence", context);
  pshmem_fence();
}
AMITY_SHMEM_DEFINE(void, ctx_quiet, (shmem_ctx_t context)) {
  if (context == SHMEM_CTX_INVALID) return;
  check_context("shmem_ctx_quiet", context);
  pshmem_quiet();
}

#define DEFINE_PUT(name, type, act, unit)                                                      \
  AMITY_SHMEM_DEFINE_BOTH(void, name, (type * dest, const type* source, size_t count, int pe), \
                          act(call, dest, source, bytes_of(count, unit), pe))
#define DEFINE_PUT_SIGNAL(name, type, unit)                                                                     \
  AMITY_SHMEM_DEFINE_BOTH(                                                                                      \
      void, name,                                                                                               \
      (type * dest, const type* source, size_t count, uint64_t* signal, uint64_t value, int operation, int pe), \
      put_signal(call, dest, source, bytes_of(count, unit), signal, value, operation, pe))
#define DEFINE_STRIDED(name, type, act, unit)                                                                  \
  AMITY_SHMEM_DEFINE_BOTH(                                                                                     \
      void, name,                                                                                              \
      (type * dest, const type* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count, int pe), \
      act(call, dest, source, dest_stride, source_stride, count, unit, pe))
#define DEFINE_BLOCKS(put, get, type, unit)    \
  DEFINE_PUT(put, type, put_bytes, unit)       \
  DEFINE_PUT(put##_nbi, type, put_bytes, unit) \
  DEFINE_PUT(get, type, get_bytes, unit)       \
  DEFINE_PUT(get##_nbi, type, begin_get, unit) \
  DEFINE_PUT_SIGNAL(put##_signal, type, unit)  \
  DEFINE_PUT_SIGNAL(put##_signal_nbi, type, unit)

#define DEFINE_TYPE(type, name)                                                                                \
  DEFINE_BLOCKS(name##_put, name##_get, type, sizeof(type))                                                    \
  DEFINE_STRIDED(name##_iput, type, put_strided, sizeof(type))                                                 \
  DEFINE_STRIDED(name##_iget, type, get_strided, sizeof(type))                                                 \
  AMITY_SHMEM_DEFINE_BOTH(void, name##_p, (type * dest, type value, int pe), put_value(call, dest, value, pe)) \
  AMITY_SHMEM_DEFINE_BOTH(type, name##_g, (const type* source, int pe), return get_value(call, source, pe))
AMITY_SHMEM_RMA_TYPES(DEFINE_TYPE)

#define DEFINE_SIZE(bits, bytes)                       \
  DEFINE_BLOCKS(put##bits, get##bits, void, bytes)     \
  DEFINE_STRIDED(iput##bits, void, put_strided, bytes) \
  DEFINE_STRIDED(iget##bits, void, get_strided, bytes)
DEFINE_BLOCKS(putmem, getmem, void, 1)
AMITY_SHMEM_SIZES(DEFINE_SIZE)
