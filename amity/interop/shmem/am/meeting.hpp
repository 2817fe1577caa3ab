#pragma once

/// How PEs meet, whatever they notify each other by: by dissemination.
///
/// After each round a PE has heard of `radix` times as many PEs before it as after the last one, itself among them. A
/// radix of 16, and not of 2 as is usual: PEs that share CPUs come to run about once a round, which takes longer than
/// to notify many; and stores to several PEs are on their way side by side.

namespace amity::shmem {

/// Calls `notify` for members of the group that are so many places ahead of this one, and `await` for those that are so
/// many behind it; for none of them twice.
template <class Notify, class Await>
void meet(long size, Notify notify, Await await) {
  constexpr long radix = 16;
  for (long distance = 1; distance < size; distance *= radix) {
    const long end = distance * radix < size ? distance * radix : size;
    for (long ahead = distance; ahead < end; ahead += distance) notify(static_cast<int>(ahead));
    for (long behind = distance; behind < end; behind += distance) await(static_cast<int>(behind));
  }
}

}  // namespace amity::shmem
