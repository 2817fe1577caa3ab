#pragma once

/// The signals that end or stop a job, or are for its ranks, as something to wait for rather than as interruptions.

#include <csignal>
#include <optional>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/types.hpp"

namespace amity::detail {

/// While it exists, the signals that would end, stop or continue the calling thread's process arrive here. A signal
/// that the process ignored before (nohup, a job in the background) stays ignored. SIGUSR1 arrives here if it has its
/// default action. One at a time, from one thread.
class signal_inbox : private immovable {
 public:
  /// With `children`, also SIGCHLD.
  explicit signal_inbox(bool children);
  ~signal_inbox();

  /// Readable when `next` has a signal.
  int fd() const noexcept { return fd_.get(); }

  /// The next signal that has arrived, if there is one.
  std::optional<int> next() noexcept;

  /// The signal mask before, which children should get.
  const sigset_t& outer_mask() const noexcept { return outer_mask_; }

 private:
  sigset_t outer_mask_{};
  struct sigaction outer_child_action_ {};
  file_descriptor fd_;
};

}  // namespace amity::detail
