#pragma once

/// A limit of virtual time for simulated jobs: a job that would never end fails instead.
///
/// In a simulated job that has lost a message, the ranks wait in slices and virtual time passes quickly, so that the
/// limit is reached within seconds of real time.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "amity/fabric/decorator.hpp"

namespace amity::testing {

/// More than twice the time of the longest job.
inline constexpr std::uint64_t virtual_seconds_max = 10;

/// A rank of a simulated job. `poll` and `arm` throw after the limit, which ends the job.
class limited_in_time final : public fabric::decorator {
 public:
  explicit limited_in_time(::amity::fabric::fabric& inner) : decorator(inner) {}

  std::size_t poll(::amity::fabric::sink& receiver, std::size_t packets_max) override {
    check_time();
    return decorator::poll(receiver, packets_max);
  }
  ::amity::fabric::alarm arm() override {
    check_time();
    return decorator::arm();
  }

 private:
  void check_time() const {
    if (now_ns() < virtual_seconds_max * 1'000'000'000) [[likely]]
      return;
    throw std::runtime_error("rank " + std::to_string(rank()) + " has not ended after " +
                             std::to_string(virtual_seconds_max) + " s of virtual time");
  }
};

}  // namespace amity::testing
