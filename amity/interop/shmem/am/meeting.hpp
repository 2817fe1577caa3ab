#pragma once

/// How PEs meet, whatever they notify each other by: by dissemination.
///
/// After each round a PE has heard of `radix` times as many PEs before it as after the last one, itself among them. All
/// PEs must name the same radix.

namespace amity::shmem {

/// Over a network, where each notification takes its time at both ends: the one with the fewest.
inline constexpr long radix_of_packets = 2;
/// PEs that share CPUs come to run about once a round, which takes longer than to notify many; and stores to several
/// PEs are on their way side by side.
inline constexpr long radix_of_stores = 16;

/// Calls `notify` for members of the group that are so many places ahead of this one, and `await` for those that are so
/// many behind it; for none of them twice.
template <class Notify, class Await>
void meet(long size, long radix, Notify notify, Await await) {
  for (long distance = 1; distance < size; distance *= radix) {
    const long end = distance * radix < size ? distance * radix : size;
    for (long ahead = distance; ahead < end; ahead += distance) notify(static_cast<int>(ahead));
    for (long behind = distance; behind < end; behind += distance) await(static_cast<int>(behind));
  }
}

}  // namespace amity::shmem
