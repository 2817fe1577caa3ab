#pragma once

/// What tests of the simulated fabric do on its ranks.

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric::sim {

/// For a rank that has a credit.
inline void send(fabric& own, rank_t dest, std::uint64_t header, std::size_t bytes = 0) {
  const std::vector<std::byte> payload(bytes);
  ASSERT_EQ(own.try_send(dest, header, payload), status::ok);
}

/// What `run` throws.
inline std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace amity::fabric::sim
