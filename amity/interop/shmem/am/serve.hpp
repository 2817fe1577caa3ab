#pragma once

/// How a PE waits: it serves others meanwhile.

namespace amity::shmem {

/// Until `ready()`: serves others, and rests as long as it should after so many looks in vain. Who serves others may
/// not count these looks, or it would give up its CPU after each of their messages.
///
/// `serve()`: says whether it has done anything. `rest(looks)`: pauses, and yields the CPU after a while. What it must
/// do once in so many looks, it counts by itself.
template <class Ready, class Serve, class Rest>
void serve_until(Ready ready, Serve serve, Rest rest) {
  for (unsigned looks = 0; !ready(); ++looks) {
    if (serve()) looks = 0;
    rest(looks);
  }
}

}  // namespace amity::shmem
