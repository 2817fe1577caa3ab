/// Collectives over a group without endpoints: an in-memory network that delivers the parts of a job in any order, and
/// a simulated job in which handlers of messages take the parts.

#include "amity/core/group_collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/core/group.hpp"
#include "tests/core/member_lists.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::expect_error;

constexpr rank_t group_sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 33};
constexpr std::size_t least_part_bytes = group_collectives::part_bytes_min;
constexpr std::size_t large_part_bytes = 4096;

/// Collectives of all kinds, each before and after each other kind.
constexpr reduction collectives_of_test[] = {reduction::none,
                                             reduction::sum_u64,
                                             reduction::scatter_sum_u64,
                                             reduction::scatter_sum_u64,
                                             reduction::none,
                                             reduction::max_i64,
                                             reduction::scatter_sum_u64,
                                             reduction::min_u64,
                                             reduction::scatter_sum_u64,
                                             reduction::scatter_sum_u64,
                                             reduction::scatter_sum_u64,
                                             reduction::sum_f64,
                                             reduction::none};

/// The word that `from` gives in collective `call`, for `to` if it is a reduce-scatter.
std::uint64_t word_given(std::size_t call, rank_t from, rank_t to) {
  if (collectives_of_test[call] == reduction::none) return 0;
  if (collectives_of_test[call] == reduction::sum_f64)
    return std::bit_cast<std::uint64_t>(from % 2 == 0 ? 1e16 : from * 0.7);
  return splitmix64::mix(call * 1'000'000 + static_cast<std::uint64_t>(from * 1000 + to));
}

std::uint64_t result_of(std::size_t call, rank_t members, rank_t member) {
  const reduction operation = collectives_of_test[call];
  if (operation == reduction::none) return 0;
  const rank_t to = operation == reduction::scatter_sum_u64 ? member : 0;
  std::uint64_t result = word_given(call, 0, to);
  for (rank_t from = 1; from < members; ++from) {
    const std::uint64_t word = word_given(call, from, to);
    if (operation == reduction::max_i64) {
      result = std::bit_cast<std::int64_t>(word) > std::bit_cast<std::int64_t>(result) ? word : result;
    } else {
      result = operation == reduction::min_u64 ? std::min(result, word) : result + word;
    }
  }
  return result;
}

void start_call(group_collectives& own, std::size_t call, rank_t member, rank_t members) {
  if (collectives_of_test[call] != reduction::scatter_sum_u64)
    return own.start(collectives_of_test[call], word_given(call, member, 0));
  std::vector<std::uint64_t> counts;
  for (rank_t to = 0; to < members; ++to) counts.push_back(word_given(call, member, to));
  own.start_reduce_scatter(counts);
}

/// All members of a group, whose parts travel between lanes of the job. A test, or a seed, chooses what happens next.
class network {
 public:
  enum class delivery { chosen, immediate };

  network(const std::vector<rank_t>& ranks, std::size_t part_bytes_max, delivery how = delivery::chosen)
      : members_(rank_list(ranks), 2, 1), how_(how), called_(ranks.size()), counts_sent_(ranks.size()) {
    for (rank_t member = 0; member < members_.size(); ++member) {
      all_.push_back(std::make_unique<group_collectives>(member, members_.size(), part_bytes_max,
                                                         [this, member](rank_t dest, bytes_view part) {
                                                           EXPECT_LE(part.size(), part_bytes_max_);
                                                           send(members_.lane(member), members_.lane(dest), part);
                                                         }));
    }
    part_bytes_max_ = part_bytes_max;
  }

  group_collectives& of(rank_t member) { return *all_[static_cast<std::size_t>(member)]; }
  rank_t size() const { return members_.size(); }
  std::size_t called(rank_t member) const { return called_[static_cast<std::size_t>(member)]; }
  const std::vector<std::uint64_t>& counts_sent() const { return counts_sent_; }
  std::size_t parts() const { return parts_; }
  /// Parts that arrived before their target had started their collective, by its kind and the kind of the one before.
  std::size_t early(bool scatter, bool after_scatter) const { return early_[scatter][after_scatter]; }

  /// The next collective of the program.
  void call(rank_t member) {
    const std::size_t index = called_[static_cast<std::size_t>(member)]++;
    start_call(of(member), index, member, size());
  }

  /// Delivers the waiting parts for which `wanted(from, to)` holds, oldest first, with those that follow from them.
  void deliver(const std::function<bool(rank_t from, rank_t to)>& wanted) {
    for (std::size_t at = 0; at < waiting_.size();) {
      if (wanted(members_.find(waiting_[at].from), members_.find(waiting_[at].to))) {
        deliver_at(at);
        at = 0;
      } else {
        ++at;
      }
    }
  }
  void deliver_all() {
    deliver([](rank_t, rank_t) { return true; });
  }

  /// Runs the whole program on all members, in an order that the seed chooses.
  void run(std::uint64_t seed) {
    splitmix64 random(seed);
    for (;;) {
      std::vector<rank_t> ready;
      for (rank_t member = 0; member < size(); ++member) {
        if (of(member).done()) check_left(member);
        if (of(member).done() && called(member) < std::size(collectives_of_test)) ready.push_back(member);
      }
      const std::size_t choices = ready.size() + waiting_.size();
      if (choices == 0) break;
      const std::size_t choice = random.below(choices);
      if (choice < ready.size()) {
        call(ready[choice]);
      } else {
        deliver_at(choice - ready.size());
      }
    }
    for (rank_t member = 0; member < size(); ++member) {
      EXPECT_EQ(called(member), std::size(collectives_of_test));
      EXPECT_TRUE(of(member).done());
    }
  }

  /// A member has left its last collective.
  void check_left(rank_t member) {
    const std::size_t count = called(member);
    if (count == 0) return;
    for (const std::size_t other : called_) ASSERT_GE(other, count) << "member " << member << " has left too early";
    if (collectives_of_test[count - 1] == reduction::sum_f64) {
      sums_.push_back(of(member).result());
      EXPECT_EQ(sums_.back(), sums_.front());
    } else {
      EXPECT_EQ(of(member).result(), result_of(count - 1, size(), member)) << "member " << member << ", call " << count;
    }
  }

  const std::vector<std::uint64_t>& sums() const { return sums_; }

 private:
  struct packet {
    rank_t from;
    rank_t to;
    std::vector<std::byte> part;
    std::size_t call;
  };

  void send(rank_t from, rank_t to, bytes_view part) {
    const rank_t source = members_.find(from);
    ++parts_;
    counts_sent_[static_cast<std::size_t>(source)] += (part.size() - group_collectives::word_part_bytes) / 8;
    packet sent{from, to, {part.begin(), part.end()}, called(source)};
    if (how_ == delivery::immediate && called(members_.find(to)) >= sent.call) return take(sent);
    waiting_.push_back(std::move(sent));
  }

  void deliver_at(std::size_t index) {
    const packet next = std::move(waiting_[index]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
    take(next);
  }

  void take(const packet& arrived) {
    const rank_t target = members_.find(arrived.to);
    ASSERT_LE(arrived.call, called(target) + 1);
    if (arrived.call > called(target) && called(target) > 0) {
      ++early_[collectives_of_test[arrived.call - 1] == reduction::scatter_sum_u64]
              [collectives_of_test[called(target) - 1] == reduction::scatter_sum_u64];
    }
    of(target).on_packet(members_.find(arrived.from), arrived.part);
  }

  group members_;
  delivery how_;
  std::size_t part_bytes_max_ = 0;
  std::vector<std::size_t> called_;
  std::vector<std::uint64_t> counts_sent_;
  std::size_t parts_ = 0;
  std::size_t early_[2][2] = {};
  std::vector<std::uint64_t> sums_;
  std::vector<packet> waiting_;
  std::vector<std::unique_ptr<group_collectives>> all_;
};

std::vector<rank_t> first_ranks(rank_t members) { return testing::regular_ranks(members, 0, 1); }

class group_of : public ::testing::TestWithParam<testing::member_list> {};
INSTANTIATE_TEST_SUITE_P(core, group_of, ::testing::ValuesIn(testing::member_lists()), testing::list_name);

TEST_P(group_of, any_size_and_order_of_parts) {
  for (const rank_t members : group_sizes) {
    for (const std::size_t part_bytes_max :
         {least_part_bytes, least_part_bytes + 15, least_part_bytes + 16, large_part_bytes}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(std::to_string(members) + " members, seed " + std::to_string(seed));
        network job(GetParam().of(members), part_bytes_max);
        job.run(seed);
      }
    }
  }
}

TEST(group_collectives, immediate_delivery) {
  for (const rank_t members : group_sizes) {
    SCOPED_TRACE(std::to_string(members) + " members");
    network job(first_ranks(members), least_part_bytes, network::delivery::immediate);
    job.run(static_cast<std::uint64_t>(members));
  }
}

TEST(group_collectives, sum_of_doubles_is_reproducible) {
  std::vector<std::uint64_t> sums;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    network job(first_ranks(16), large_part_bytes);
    job.run(seed);
    sums.insert(sums.end(), job.sums().begin(), job.sums().end());
  }
  EXPECT_EQ(sums, std::vector<std::uint64_t>(sums.size(), sums.front()));
}

TEST(group_collectives, member_one_call_ahead) {
  std::size_t seen[2][2] = {};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    network job(first_ranks(7), least_part_bytes);
    job.run(seed);
    for (const bool scatter : {false, true}) {
      for (const bool after_scatter : {false, true}) seen[scatter][after_scatter] += job.early(scatter, after_scatter);
    }
  }
  for (const auto& row : seen) {
    for (const std::size_t count : row) EXPECT_GT(count, 0u);
  }
}

TEST(group_collectives, late_member_holds_all_others) {
  for (const rank_t members : group_sizes) {
    for (rank_t late = 0; late < members; ++late) {
      network job(first_ranks(members), large_part_bytes);
      for (std::size_t call = 0; call < std::size(collectives_of_test); ++call) {
        for (rank_t member = 0; member < members; ++member) {
          if (member != late) job.call(member);
        }
        job.deliver_all();
        for (rank_t member = 0; member < members; ++member) {
          if (member != late) {
            EXPECT_FALSE(job.of(member).done()) << "call " << call;
          }
        }
        job.call(late);
        job.deliver_all();
        for (rank_t member = 0; member < members; ++member) ASSERT_TRUE(job.of(member).done());
      }
    }
  }
}

TEST(group_collectives, traffic_of_reduce_scatter) {
  for (const rank_t members : group_sizes) {
    for (const std::size_t part_bytes_max : {least_part_bytes, large_part_bytes}) {
      network job(first_ranks(members), part_bytes_max);
      const auto others = static_cast<std::size_t>(members - 1);
      const std::vector<std::uint64_t> ones(others + 1, 1);
      for (rank_t member = 0; member < members; ++member) job.of(member).start_reduce_scatter(ones);
      job.deliver_all();
      for (rank_t member = 0; member < members; ++member) {
        EXPECT_EQ(job.of(member).result(), others + 1);
        EXPECT_EQ(job.counts_sent()[static_cast<std::size_t>(member)], others);
      }
      const std::size_t rounds = std::bit_width(others);
      EXPECT_EQ(job.parts(), (others + 1) * (part_bytes_max == least_part_bytes ? others : rounds))
          << members << " members";
    }
  }
}

// Each member uses two others, or none.
TEST(group_collectives, zeros_at_ends_are_not_sent) {
  for (const rank_t members : group_sizes) {
    for (const std::size_t part_bytes_max : {least_part_bytes, large_part_bytes}) {
      for (const bool uses_others : {false, true}) {
        network job(first_ranks(members), part_bytes_max);
        for (rank_t member = 0; member < members; ++member) {
          std::vector<std::uint64_t> counts(static_cast<std::size_t>(members), 0);
          if (uses_others) {
            ++counts[static_cast<std::size_t>((member + 1) % members)];
            counts[static_cast<std::size_t>((member + members - 1) % members)] += 10;
          }
          job.of(member).start_reduce_scatter(counts);
        }
        job.deliver_all();
        const auto others = static_cast<std::size_t>(members - 1);
        for (rank_t member = 0; member < members; ++member) {
          EXPECT_EQ(job.of(member).result(), uses_others ? 11u : 0u);
          const std::size_t sent = job.counts_sent()[static_cast<std::size_t>(member)];
          EXPECT_LE(sent, uses_others ? others : 0);
        }
        if (!uses_others) {
          EXPECT_EQ(job.parts(), (others + 1) * std::bit_width(others));
        }
      }
    }
  }
}

// Parts that are not sent by members that run the same build, and members that start other collectives. Member 2 of 8
// has child 3 and parent 0; it receives counts of members 6, 0 and 1 in rounds 0, 1 and 2.

struct part_header {
  enum : std::uint8_t { up, down, counts };

  std::uint32_t sequence = 1;
  reduction operation = reduction::none;
  std::uint8_t form = up;
  std::uint8_t round = 0;
  std::uint64_t value = 0;
};

std::vector<std::byte> part_of(const part_header& about, std::size_t content_bytes = 0) {
  std::vector<std::byte> part(group_collectives::word_part_bytes + content_bytes);
  const auto operation = static_cast<std::uint16_t>(about.operation);
  std::memcpy(part.data(), &about.sequence, 4);
  std::memcpy(part.data() + 4, &operation, 2);
  std::memcpy(part.data() + 6, &about.form, 1);
  std::memcpy(part.data() + 7, &about.round, 1);
  std::memcpy(part.data() + 8, &about.value, 8);
  return part;
}

part_header counts_of(std::uint8_t round, std::uint64_t first, std::uint32_t sequence = 1) {
  return {.sequence = sequence,
          .operation = reduction::scatter_sum_u64,
          .form = part_header::counts,
          .round = round,
          .value = first};
}

/// Member 2 of 8.
struct member_of_eight {
  std::size_t sent = 0;
  group_collectives own{2, 8, large_part_bytes, [this](rank_t, bytes_view) { ++sent; }};

  void start_scatter() { own.start_reduce_scatter(std::vector<std::uint64_t>(8, 1)); }
  void expect_invalid(rank_t source, const std::vector<std::byte>& part, const std::string& content = {}) {
    expect_error([&] { own.on_packet(source, part); },
                 {"message arrival (rank 2)", "rank " + std::to_string(source) + " sent an invalid packet: " + content,
                  "same build"});
  }
};

TEST(invalid_parts, header) {
  member_of_eight idle;
  for (std::size_t bytes = 0; bytes < group_collectives::word_part_bytes; ++bytes) {
    auto part = part_of({});
    part.resize(bytes);
    idle.expect_invalid(3, part, std::to_string(bytes) + " bytes of a collective");
  }
  for (const std::uint32_t sequence : {0u, 2u, ~0u}) idle.expect_invalid(3, part_of({.sequence = sequence}));
  idle.expect_invalid(3, part_of({.form = 3}));
  idle.expect_invalid(3, part_of({.form = 255}));
  idle.expect_invalid(6, part_of({.form = part_header::counts}, 8));
  idle.expect_invalid(3, part_of({.operation = reduction::scatter_sum_u64}));

  member_of_eight waiting;
  waiting.own.start(reduction::none, 0);
  for (const std::uint32_t sequence : {0u, 3u}) waiting.expect_invalid(3, part_of({.sequence = sequence}));
}

TEST(invalid_parts, values_of_tree) {
  for (const bool started : {false, true}) {
    member_of_eight m;
    if (started) m.own.start(reduction::none, 0);
    for (const rank_t source : {-1, 0, 1, 2, 4, 6, 7, 8, 10, 34}) m.expect_invalid(source, part_of({}));
    m.expect_invalid(3, part_of({}, 8));
    m.own.on_packet(3, part_of({}));
    m.expect_invalid(3, part_of({}));
    // A child does not start the next call before this member has sent it the result.
    if (started) m.expect_invalid(3, part_of({.sequence = 2}));
    EXPECT_EQ(m.sent, started ? 1u : 0u);
  }
}

TEST(invalid_parts, results_of_tree) {
  const auto result = part_of({.form = part_header::down});
  member_of_eight m;
  m.expect_invalid(0, result);
  m.own.start(reduction::none, 0);
  m.expect_invalid(0, result);  // this member has not sent its value
  m.own.on_packet(3, part_of({}));
  for (const rank_t source : {-1, 1, 2, 3, 8}) m.expect_invalid(source, result);
  m.expect_invalid(0, part_of({.form = part_header::down}, 8));
  m.expect_invalid(0, part_of({.sequence = 2, .form = part_header::down}));
  EXPECT_FALSE(m.own.done());
  m.own.on_packet(0, result);
  EXPECT_TRUE(m.own.done());
  m.expect_invalid(0, result);
}

TEST(invalid_parts, counts) {
  for (const bool started : {false, true}) {
    member_of_eight m;
    if (started) m.start_scatter();
    const auto expect_invalid = [&](rank_t source, const part_header& about, std::size_t bytes) {
      m.expect_invalid(source, part_of(about, bytes));
    };
    for (const rank_t source : {-2, -1, 0, 1, 2, 7, 8, 14}) expect_invalid(source, counts_of(0, 0), 8);
    for (const int round : {3, 4, 31, 32, 255}) expect_invalid(1, counts_of(static_cast<std::uint8_t>(round), 0), 8);
    for (const std::size_t bytes : {0u, 1u, 7u, 12u, 33u, 40u}) expect_invalid(6, counts_of(0, 0), bytes);
    for (const std::uint64_t first :
         {std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{4} << 32, std::uint64_t{1} << 61, ~std::uint64_t{0}}) {
      expect_invalid(6, counts_of(0, first), 8);
    }
    expect_invalid(6, counts_of(0, 1), 32);
    m.own.on_packet(6, part_of(counts_of(0, 0), 24));
    expect_invalid(6, counts_of(0, 1), 16);
    m.own.on_packet(6, part_of(counts_of(0, 3), 8));
    expect_invalid(6, counts_of(0, 0), 8);

    // They have changed nothing.
    m.own.on_packet(0, part_of(counts_of(1, 0), 16));
    expect_invalid(1, counts_of(2, std::uint64_t{2} << 32), 0);
    m.own.on_packet(1, part_of(counts_of(2, std::uint64_t{1} << 32)));
    if (!started) m.start_scatter();
    EXPECT_TRUE(m.own.done());
    EXPECT_EQ(m.own.result(), 1u);
    EXPECT_EQ(m.sent, 3u);
  }
}

TEST(group_collectives, different_calls) {
  const auto count = part_of(counts_of(0, 0), 8);
  const std::string scatter = "rank 6 is in a reduce-scatter of uint64";
  {
    member_of_eight m;
    m.own.start(reduction::sum_u64, 0);
    expect_error([&] { m.own.on_packet(6, count); }, {"(rank 2)", scatter, "rank 2 in a sum of uint64"});
    expect_error([&] { m.own.on_packet(3, part_of({})); }, {"rank 3 is in a barrier, rank 2 in a sum of uint64"});
  }
  {
    member_of_eight m;
    m.own.on_packet(6, count);
    expect_error([&] { m.own.on_packet(3, part_of({})); }, {"rank 3 is in a barrier, rank 6 in a reduce-scatter"});
    expect_error([&] { m.own.start(reduction::none, 0); }, {scatter, "rank 2 in a barrier", "same collectives"});
  }
  {
    member_of_eight m;
    m.own.on_packet(3, part_of({}));
    expect_error([&] { m.start_scatter(); }, {"rank 3 is in a barrier, rank 2 in a reduce-scatter of uint64"});
  }
}

// Handlers of messages take the parts, so that a part arrives while another one is sent.
class group_job : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, group_job, testing::every_job(), testing::job_name);

TEST_P(group_job, parts_in_messages) {
  run([](endpoint& own) {
    std::vector<rank_t> ranks = testing::regular_ranks(own.size(), 0, 1);
    std::ranges::reverse(ranks);
    const group members(rank_list(ranks), own.threads(), own.thread());
    handler_id take = 0;
    group_collectives all(
        members.find(own.lane()), members.size(), least_part_bytes,
        [&](rank_t member, bytes_view part) { own.request_medium(members.rank(member), take, part); });
    take = own.add_handler("take", [&](request& r) { all.on_packet(members.find(r.source()), r.payload()); });
    own.barrier();
    const rank_t member = members.find(own.lane());
    for (std::size_t call = 0; call < std::size(collectives_of_test); ++call) {
      start_call(all, call, member, members.size());
      own.wait_until("a collective of the group", [&] { return all.done(); });
      if (collectives_of_test[call] != reduction::sum_f64) {
        EXPECT_EQ(all.result(), result_of(call, members.size(), member)) << "call " << call;
      }
    }
    own.barrier();
  });
}

}  // namespace
}  // namespace amity::core
