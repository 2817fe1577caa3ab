#pragma once

/// Several hosts on one machine: network namespaces on one wire, which the test can make slow, unordered or cut.
///
/// Each host has one Ethernet device (TAP), and a thread of the test carries frames between them. Nothing else on the
/// machine sees them, and nothing is left of them when the test's process is gone. Needs the right to make namespaces.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "amity/base/file_descriptor.hpp"

namespace amity::testing {

/// What becomes of frames on the wire.
struct wire {
  std::chrono::microseconds delay{0};
  double late = 0;  ///< share of the frames that take four times as long, so that others overtake them
  double lost = 0;  ///< share of the frames that do not arrive
  std::uint64_t seed = 1;
};

class hosts {
 public:
  explicit hosts(int count, const wire& given = {});
  ~hosts();
  hosts(const hosts&) = delete;
  hosts& operator=(const hosts&) = delete;

  /// From now on nothing reaches the host, and nothing comes from it.
  void cut_off(int number) noexcept { cut_[static_cast<std::size_t>(number)].store(true); }

  /// Frames that have reached a host so far.
  std::uint64_t frames_carried() const noexcept { return carried_.load(); }

  /// A command that runs the words that follow it on the host of its rank, for a launcher to start: AMITY_RANK counts,
  /// `ranks_each` on one host, and AMITY_OFI_ADDRESS is set.
  std::vector<std::string> placing(int ranks_each) const;

 private:
  struct host {
    file_descriptor space;   ///< its network namespace
    file_descriptor device;  ///< its end of the wire
  };

  static host make_host(int number);
  void carry(const std::stop_token& stopped);

  wire wire_;
  std::vector<host> hosts_;
  std::vector<std::atomic<bool>> cut_;
  std::atomic<std::uint64_t> carried_ = 0;
  std::jthread carrier_;
};

}  // namespace amity::testing
