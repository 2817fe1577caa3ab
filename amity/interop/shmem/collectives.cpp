/// Collective operations that move data: each PE takes what it needs from the others, once all have come.
///
/// The destination is written by its own PE alone, so that nobody need know whether it is ready; who leaves knows that
/// all have done with its source.

#include <cstdint>

#include <fmt/format.h>

#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

/// Everybody has what it takes.
void end(const char* call, const group& all) {
  finish_taking();
  sync(call, all);
}

void broadcast(const char* call, const group& all, void* dest, const void* source, std::size_t bytes, int root,
               bool also_at_root) {
  if (root < 0 || root >= all.size) {
    fail(call, fmt::format("there is no root {} in the group", root).c_str(),
         fmt::format("name it by its number in the group, 0 to {}", all.size - 1).c_str());
  }
  check_dest(call, dest, bytes);
  sync(call, all, {"number of bytes", bytes}, {"root", static_cast<std::uint64_t>(root)});
  if (all.me != root || also_at_root) take(call, dest, source, bytes, all.world_pe(root));
  end(call, all);
}

void collect(const char* call, const group& all, void* dest, const void* source, std::size_t bytes) {
  std::uint64_t& offer = self.joined->offer();
  offer = bytes;
  check_dest(call, dest, bytes);
  sync(call, all);
  auto* to = static_cast<std::byte*>(dest);
  for (int member = 0; member < all.size; ++member) {
    std::uint64_t its = 0;
    take(call, &its, &offer, sizeof its, all.world_pe(member));
    finish_taking();
    check_dest(call, to, its);
    take(call, to, source, its, all.world_pe(member));
    to += its;
  }
  end(call, all);
}

void fcollect(const char* call, const group& all, void* dest, const void* source, std::size_t bytes) {
  check_dest(call, dest, bytes_of(bytes, static_cast<std::size_t>(all.size)));
  sync(call, all, {"number of bytes", bytes});
  auto* const to = static_cast<std::byte*>(dest);
  for (int i = 0; i < all.size; ++i) {
    const int member = (all.me + i) % all.size;  // not all at once from the same one
    take(call, to + static_cast<std::size_t>(member) * bytes, source, bytes, all.world_pe(member));
  }
  end(call, all);
}

/// Blocks of `count` elements of `unit` bytes, with strides in elements.
void alltoall(const char* call, const group& all, void* dest, const void* source, std::ptrdiff_t dest_stride,
              std::ptrdiff_t source_stride, std::size_t count, std::size_t unit) {
  if (count > 0) {
    const std::size_t elements = bytes_of(count, static_cast<std::size_t>(all.size));
    check_dest(call, dest, strided_bytes(call, elements, dest_stride, unit));
    strided_bytes(call, elements, source_stride, unit);
  }
  sync(call, all, {"number of elements", count}, {"stride of the source", static_cast<std::uint64_t>(source_stride)});
  const auto size = static_cast<std::ptrdiff_t>(unit);
  const auto block = static_cast<std::ptrdiff_t>(count) * size;
  for (int i = 0; i < all.size; ++i) {
    const int member = (all.me + i) % all.size;
    std::byte* to = static_cast<std::byte*>(dest) + member * block * dest_stride;
    const std::byte* from = static_cast<const std::byte*>(source) + all.me * block * source_stride;
    const int pe = all.world_pe(member);
    if (dest_stride == 1 && source_stride == 1) {
      take(call, to, from, count * unit, pe);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k, to += dest_stride * size, from += source_stride * size)
      take(call, to, from, unit, pe);
  }
  end(call, all);
}

}  // namespace

// Calls over an active set and over a team: what each one does with `call`, its name, and with `all`, its group.
#define DEFINE_OVER_SET(type, name, act, ...)                                                                      \
  AMITY_SHMEM_DEFINE(void, name,                                                                                   \
                     (type * dest, const type* source, __VA_ARGS__, int start, int log_stride, int size, long*)) { \
    const char* const call = "shmem_" #name;                                                                       \
    const group all = active_set(call, start, log_stride, size);                                                   \
    act;                                                                                                           \
  }
#define DEFINE_OVER_TEAM(type, name, act, ...)                                                       \
  AMITY_SHMEM_DEFINE(int, name, (shmem_team_t team, type * dest, const type* source, __VA_ARGS__)) { \
    const char* const call = "shmem_" #name;                                                         \
    const group all = team_of(call, team);                                                           \
    act;                                                                                             \
    return 0;                                                                                        \
  }

#define DEFINE_EXCHANGES(DEFINE, type, before, after, unit, also_at_root)                                            \
  DEFINE(type, before##broadcast##after,                                                                             \
         broadcast(call, all, dest, source, bytes_of(count, unit), root, also_at_root), size_t count, int root)      \
  DEFINE(type, before##collect##after, collect(call, all, dest, source, bytes_of(count, unit)), size_t count)        \
  DEFINE(type, before##fcollect##after, fcollect(call, all, dest, source, bytes_of(count, unit)), size_t count)      \
  DEFINE(type, before##alltoall##after, alltoall(call, all, dest, source, 1, 1, count, unit), size_t count)          \
  DEFINE(type, before##alltoalls##after, alltoall(call, all, dest, source, dest_stride, source_stride, count, unit), \
         ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count)
DEFINE_EXCHANGES(DEFINE_OVER_SET, void, , 32, 4, false)
DEFINE_EXCHANGES(DEFINE_OVER_SET, void, , 64, 8, false)
#define DEFINE_FOR_TYPE(type, name) DEFINE_EXCHANGES(DEFINE_OVER_TEAM, type, name##_, , sizeof(type), true)
AMITY_SHMEM_RMA_TYPES(DEFINE_FOR_TYPE)
DEFINE_EXCHANGES(DEFINE_OVER_TEAM, void, , mem, 1, true)
