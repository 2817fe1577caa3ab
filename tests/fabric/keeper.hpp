#pragma once

/// What tests of credits need: a sink that keeps packets, small payloads, and who sends to whom.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/fabric/fabric.hpp"
#include "payloads.hpp"

namespace amity::fabric::testing {

/// Keeps packets until it is told to release them, and checks that they do not change.
class keeper {
 public:
  explicit keeper(fabric& own) : own_(own) {}

  disposition keep(const packet& p) {
    EXPECT_TRUE(is_payload(p.payload, p.header));
    kept_.push_back(p);
    return disposition::keep;
  }

  std::size_t count() const { return kept_.size(); }

  void release_one(std::size_t at) {
    const packet p = kept_[at];
    EXPECT_TRUE(is_payload(p.payload, p.header)) << "payload " << p.header << " changed while it was kept";
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at));
    own_.release(p.token);
  }

  void release_all_shuffled(std::uint64_t seed) {
    splitmix64 random(seed);
    while (!kept_.empty()) release_one(random.below(kept_.size()));
  }

 private:
  fabric& own_;
  std::vector<packet> kept_;
};

/// A payload that costs a credit and no slot, where the fabric knows that difference.
inline std::vector<std::byte> small_payload(const fabric& own, std::uint64_t key) {
  return make_payload(key % (std::min<std::size_t>(own.caps().inline_bytes_max, 48) + 1), key);
}

/// A job where rank 0 sends to rank 1, or to itself if it is alone; other ranks only take part in the barrier.
struct roles {
  explicit roles(const fabric& own)
      : target(own.size() > 1 ? 1 : 0),
        sends(own.rank() == 0),
        receives(own.rank() == target),
        allowed(own.allowance_to(sends ? target : 0)) {}
  rank_t target;
  bool sends;
  bool receives;
  allowance allowed;  ///< between the two, the same both ways
};

}  // namespace amity::fabric::testing
