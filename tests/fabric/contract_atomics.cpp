/// Atomics on remote memory: each operation alone, and all ranks at once on the same words.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "../support/sanitizer.hpp"
#include "contract.hpp"
#include "mailbox.hpp"
#include "remote_user.hpp"

namespace amity::fabric::testing {
namespace {

template <class Word>
Word word_at(const segments_of_all& all, std::size_t offset) {
  Word word;
  std::memcpy(&word, all.memory().data() + offset, sizeof word);
  return word;
}

TEST_P(contract, each_atomic_does_what_its_name_says) {
  run([](fabric& own) {
    if (!own.caps().remote.atomics) return;
    mailbox mail(own);
    segments_of_all all(own, mail, 64);
    remote_user user(own, mail);
    const remote_handle& there = all.of((own.rank() + 1) % own.size());
    constexpr std::uint64_t large = 0x8000'0000'0000'0001u;
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::swap, .operand = large}), 0u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::add, .operand = large}), large);  // the carry is lost
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::fetch, .operand = 99}), 2u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::compare_swap, .operand = 50, .expected = 3}), 2u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::compare_swap, .operand = 0b1100, .expected = 2}), 2u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::bit_and, .operand = 0b0110}), 0b1100u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::bit_or, .operand = 0b0011}), 0b0100u);
    EXPECT_EQ(user.atomic(there, 8, {.op = atomic_op::bit_xor, .operand = 0b1010}), 0b0111u);
    EXPECT_EQ(user.atomic(there, 8, {}), 0b1101u);

    // Words of 4 bytes: the bytes beside them stay, and what comes back has zeros above.
    EXPECT_EQ(user.atomic(there, 20, {.op = atomic_op::add, .bytes = 4, .operand = 0xffff'ffff}), 0u);
    EXPECT_EQ(user.atomic(there, 20, {.op = atomic_op::add, .bytes = 4, .operand = 2}), 0xffff'ffffu);
    EXPECT_EQ(
        user.atomic(there, 20, {.op = atomic_op::compare_swap, .bytes = 4, .operand = 0x1'0000'0007, .expected = 1}),
        1u);
    mail.barrier();
    EXPECT_EQ(word_at<std::uint64_t>(all, 0), 0u);
    EXPECT_EQ(word_at<std::uint64_t>(all, 8), 0b1101u);
    EXPECT_EQ(word_at<std::uint32_t>(all, 16), 0u);
    EXPECT_EQ(word_at<std::uint32_t>(all, 20), 7u);
    EXPECT_EQ(word_at<std::uint64_t>(all, 24), 0u);
    mail.barrier();
  });
}

TEST_P(contract, atomics_of_all_ranks_add_up) {
  run([](fabric& own) {
    if (!own.caps().remote.atomics) return;
    constexpr std::uint64_t turns = amity::testing::sanitized ? 100 : 300;
    const auto ranks = static_cast<std::uint64_t>(own.size());
    mailbox mail(own);
    segments_of_all all(own, mail, 32);
    remote_user user(own, mail);
    std::uint64_t taken_before = 0;
    std::set<std::uint64_t> tickets;
    // Some without a result, several under way at once.
    for (std::uint64_t i = 0; i < turns; ++i) {
      for (rank_t dest = 0; dest < own.size(); ++dest) {
        static_cast<void>(user.start({.complete = user.new_context()}, [&](const events& tell) {
          return user.memory().atomic(all.of(dest), 0, {.op = atomic_op::add, .operand = i}, nullptr, tell.complete);
        }));
      }
      const std::uint64_t ticket = user.atomic(all.of(0), 8, {.op = atomic_op::add, .operand = 1});
      EXPECT_TRUE(tickets.empty() || ticket > taken_before);
      taken_before = ticket;
      tickets.insert(ticket);
      // Takes the count from 4 bytes in steps: each try that succeeds adds one.
      std::uint64_t seen = user.atomic(all.of(0), 16, {.bytes = 4});
      for (std::uint64_t found;; seen = found) {
        found = user.atomic(all.of(0), 16,
                            {.op = atomic_op::compare_swap, .bytes = 4, .operand = seen + 1, .expected = seen});
        if (found == seen) break;
      }
    }
    mail.barrier();
    EXPECT_EQ(tickets.size(), turns);
    EXPECT_EQ(word_at<std::uint64_t>(all, 0), ranks * (turns * (turns - 1) / 2));
    if (own.rank() == 0) {
      EXPECT_EQ(word_at<std::uint64_t>(all, 8), ranks * turns);
      EXPECT_EQ(word_at<std::uint32_t>(all, 16), ranks * turns);
    }
    mail.barrier();
  });
}

}  // namespace
}  // namespace amity::fabric::testing
