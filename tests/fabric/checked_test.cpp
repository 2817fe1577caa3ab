/// `checked` catches each broken promise, of its caller and of the fabric below, and names it.
///
/// Each case runs a small simulated job in a process of its own, which must die with the right sentence.

#include "amity/fabric/checked.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/waiter.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"

namespace amity::fabric {
namespace {

using testing::done_with;
using testing::forever;
using testing::mailbox;

/// A job of two checked ranks.
void run_checked(const std::function<void(fabric&)>& body, const sim::sim_options& options = {}) {
  sim::run(2, options, [&](fabric& own) {
    checked decorated(own);
    body(decorated);
    return 0;
  });
}

/// Rank 0 does something wrong; the other waits for whatever comes.
void rank_0_does(const std::function<void(fabric&)>& body) {
  run_checked([&](fabric& own) {
    mailbox mail(own, done_with);
    if (own.rank() == 0) body(own);
    mail.barrier();
  });
}

slot acquired(fabric& own, rank_t dest = 1, claim of = claim::ordinary) {
  slot s;
  static_cast<void>(own.acquire(dest, s, of));
  return s;
}
void send(fabric& own, rank_t dest, bytes_view payload = {}) {
  static_cast<void>(own.try_send(dest, 0, payload, claim::ordinary));
}

TEST(checked_caller, must_name_a_rank) {
  EXPECT_DEATH(rank_0_does([](fabric& own) { send(own, 2); }),
               "rank 0: the caller broke the fabric contract in try_send: rank 2 of a job of 2");
  EXPECT_DEATH(rank_0_does([](fabric& own) { send(own, -1); }), "in try_send: rank -1 of");
  EXPECT_DEATH(rank_0_does([](fabric& own) { acquired(own, 7); }), "in acquire: rank 7 of");
  EXPECT_DEATH(rank_0_does([](fabric& own) { static_cast<void>(own.node_of(2)); }), "in node_of: rank 2 of");
}

TEST(checked_caller, must_not_exceed_a_packet) {
  EXPECT_DEATH(
      rank_0_does([](fabric& own) { send(own, 1, testing::make_payload(own.caps().packet_bytes_max + 1, 1)); }),
      "in try_send: a payload of 4145 bytes to rank 1; a packet holds 4144");
  EXPECT_DEATH(rank_0_does([](fabric& own) {
                 const slot s = acquired(own);
                 own.commit(1, 0, s, s.capacity + 1);
               }),
               "in commit: 4145 bytes in a slot of 4144");
}

TEST(checked_caller, commits_each_slot_once_and_to_its_rank) {
  EXPECT_DEATH(rank_0_does([](fabric& own) { own.commit(0, 0, acquired(own), 8); }),
               "in commit: a slot acquired for rank 1 is committed to rank 0");
  EXPECT_DEATH(rank_0_does([](fabric& own) {
                 const slot s = acquired(own);
                 own.commit(1, 0, s, 8);
                 own.commit(1, 0, s, 8);
               }),
               "in commit: a slot that is not acquired, or has been committed already");
  EXPECT_DEATH(rank_0_does([](fabric& own) { own.commit(1, 0, slot{}, 0); }), "in commit: a slot that is not acquired");
}

TEST(checked_caller, commits_slot_without_epoch_at_once) {
  constexpr const char* problem = "a slot that was claimed for a packet without an epoch is open; commit it first";
  EXPECT_DEATH(rank_0_does([](fabric& own) {
                 acquired(own, 1, claim::no_epoch);
                 send(own, 1);
               }),
               std::string("in try_send: ") + problem);
  EXPECT_DEATH(rank_0_does([](fabric& own) {
                 const slot ordinary = acquired(own);
                 acquired(own, 1, claim::answer);
                 own.commit(1, 0, ordinary, 8);
               }),
               std::string("in commit: ") + problem);
  rank_0_does([](fabric& own) {
    const slot ordinary = acquired(own), urgent = acquired(own, 1, claim::answer);
    own.commit(1, 0, urgent, 8);
    own.commit(1, 0, ordinary, 8);
  });
}

TEST(checked_caller, releases_what_it_kept_once) {
  const auto keep_one = [](auto then) {
    run_checked([&](fabric& own) {
      std::uint64_t token = 0;
      mailbox mail(own, [&](const packet& p) {
        token = p.token;
        return disposition::keep;
      });
      if (own.rank() == 0) {
        mail.send(0, 5);
        mail.until([&] { return token != 0; });
        then(own, token);
      }
      mail.barrier();
    });
  };
  keep_one([](fabric& own, std::uint64_t token) { own.release(token); });
  EXPECT_DEATH(keep_one([](fabric& own, std::uint64_t token) {
                 own.release(token);
                 own.release(token);
               }),
               "in release: token 0x[0-9a-f]+ names no packet that is kept");
  EXPECT_DEATH(keep_one([](fabric& own, std::uint64_t token) { own.release(token + 1); }), "in release: token 0x");
  EXPECT_DEATH(keep_one([](fabric&, std::uint64_t) {}),
               "in destructor: 1 packets were kept and never released, one of them from rank 0");
}

TEST(checked_caller, does_not_release_the_packet_that_it_is_looking_at) {
  EXPECT_DEATH(run_checked([](fabric& own) {
                 mailbox mail(own, [&](const packet& p) {
                   own.release(p.token);
                   return disposition::keep;
                 });
                 mail.send(own.rank(), 5);
                 mail.until([] { return false; });
               }),
               "in release: token 0x");
}

TEST(checked_caller, commits_all_slots_before_the_end) {
  EXPECT_DEATH(rank_0_does([](fabric& own) { acquired(own); }),
               "in destructor: 1 slots were acquired and never committed, one of them to rank 1");
}

TEST(checked_caller, may_leave_things_behind_when_the_job_has_failed) {
  EXPECT_THROW(rank_0_does([](fabric& own) {
                 acquired(own);
                 throw std::invalid_argument("failed");
               }),
               std::invalid_argument);
  EXPECT_THROW(run_checked([](fabric& own) {
                 acquired(own);
                 if (own.rank() == 0) return own.abort();
                 try {
                   wait(own, forever);
                 } catch (const job_aborted&) {
                   // The end is regular from here on, but the slot has nowhere to go.
                 }
                 throw job_aborted("done");
               }),
               job_aborted);
}

TEST(checked_caller, neither_polls_nor_waits_in_a_sink) {
  const auto in_a_sink = [](auto act) {
    run_checked([&](fabric& own) {
      mailbox inner(own, done_with);
      mailbox mail(own, [&](const packet&) {
        act(own, inner);
        return disposition::release;
      });
      mail.send(own.rank(), 5);
      mail.until([] { return false; });
    });
  };
  EXPECT_DEATH(in_a_sink([](fabric& own, sink& inner) { own.poll(inner, 1); }), "in poll: called from a sink");
  EXPECT_DEATH(in_a_sink([](fabric& own, sink&) { wait(own, 10); }), "in check: called from a sink");
}

TEST(checked_caller, stays_on_one_thread) {
  EXPECT_DEATH(rank_0_does([](fabric& own) {
                 send(own, 1);
                 std::thread([&] { send(own, 1); }).join();
               }),
               "in try_send: called from a second thread");
}

TEST(checked_caller, is_told_when_packets_are_too_small) {
  EXPECT_THROW(run_checked([](fabric&) {}, {.packet_bytes = 512}), error);
  run_checked([](fabric& own) { EXPECT_EQ(own.caps().packet_bytes_max, 512u); }, {.packet_bytes = 528});
}

/// What a broken fabric may do to the packets that it hands over.
enum class fault { none, twice, swapped, dropped, damaged, cut, misaligned, one_token, wrong_count, too_many };

/// A fabric that breaks a promise once it has taken three packets from the fabric below.
class faulty final : public decorator {
 public:
  faulty(fabric& inner, fault kind) : decorator(inner), kind_(kind) {}

  std::size_t poll(sink& receiver, std::size_t packets_max) override {
    hoard mine(packets_);
    inner().poll(mine, 64);
    if (packets_.size() == 3 && !std::exchange(broken_, true)) break_a_promise();
    if (!broken_) return 0;
    std::size_t handed = 0;
    while (!packets_.empty() && (handed < packets_max || kind_ == fault::too_many)) {
      const stored& p = kept_.emplace_back(packets_.front());  // the payload stays where it is for whoever keeps it
      packets_.pop_front();
      receiver.on_packet({p.header, bytes_view(p.bytes).subspan(p.offset, p.size), p.source, p.token});
      ++handed;
    }
    return handed + (kind_ == fault::wrong_count ? 1 : 0);
  }

  void release(std::uint64_t) noexcept override {}

 private:
  void break_a_promise() {
    switch (kind_) {
      case fault::twice:
        packets_.push_back(packets_[1]);
        break;
      case fault::swapped:
        std::swap(packets_[1], packets_[2]);
        break;
      case fault::dropped:
        packets_.erase(packets_.begin() + 1);
        break;
      case fault::damaged:
        packets_[1].bytes[3] ^= std::byte{1};
        break;
      case fault::cut:
        packets_[1].size = 7;
        break;
      case fault::misaligned:
        packets_[1].offset = 8;
        std::copy_backward(packets_[1].bytes.begin(), packets_[1].bytes.begin() + 64, packets_[1].bytes.begin() + 72);
        break;
      case fault::one_token:
        packets_[1].token = packets_[0].token;
        break;
      default:
        break;
    }
  }

  struct stored {
    std::uint64_t header;
    rank_t source;
    std::uint64_t token;
    std::size_t size;
    std::size_t offset = 0;
    alignas(64) std::array<std::byte, 128> bytes{};
  };

  struct hoard final : sink {
    explicit hoard(std::deque<stored>& to) : packets(to) {}
    disposition on_packet(const packet& p) noexcept override {
      stored copy{.header = p.header, .source = p.source, .token = p.token, .size = p.payload.size()};
      std::ranges::copy(p.payload, copy.bytes.begin());
      packets.push_back(copy);
      return disposition::release;
    }
    std::deque<stored>& packets;
  };

  fault kind_;
  bool broken_ = false;
  std::deque<stored> packets_;
  std::deque<stored> kept_;
};

void receive_three_packets(fault kind, disposition answer = disposition::release) {
  sim::run(1, {}, [&](fabric& plain) {
    faulty broken(plain, kind);
    checked own(broken);
    struct counting final : sink {
      disposition on_packet(const packet& p) noexcept override {
        tokens.push_back(p.token);
        return answer;
      }
      std::vector<std::uint64_t> tokens;
      disposition answer;
    } sink;
    sink.answer = answer;
    for (std::uint64_t i = 0; i < 3; ++i)
      EXPECT_EQ(own.try_send(0, i, testing::make_payload(40, i), claim::ordinary), status::ok);
    while (sink.tokens.size() < 3) {
      if (own.poll(sink, 2) == 0) wait(own, 1'000'000);
    }
    if (answer == disposition::keep) {
      for (const std::uint64_t token : sink.tokens) own.release(token);
    }
    return 0;
  });
}

TEST(checked_fabric, that_keeps_its_promises_is_left_in_peace) {
  receive_three_packets(fault::none);
  receive_three_packets(fault::none, disposition::keep);
}

TEST(checked_fabric, must_not_repeat_lose_swap_or_change_a_packet) {
  EXPECT_DEATH(receive_three_packets(fault::twice),
               "rank 0: the fabric sim broke its contract in poll: packet 1 from rank 0 arrived twice");
  EXPECT_DEATH(receive_three_packets(fault::swapped), "in poll: packet 2 from rank 0 arrived before packet 1");
  EXPECT_DEATH(receive_three_packets(fault::dropped), "in poll: packet 2 from rank 0 arrived before packet 1");
  EXPECT_DEATH(receive_three_packets(fault::damaged), "in poll: a packet from rank 0 has changed on its way");
  EXPECT_DEATH(receive_three_packets(fault::cut), "in poll: a packet of 7 bytes from rank 0; each has 16 to 4160 here");
  EXPECT_DEATH(receive_three_packets(fault::misaligned), "in poll: a payload that is not aligned to 16 bytes");
}

TEST(checked_fabric, gives_each_kept_packet_a_token_of_its_own) {
  EXPECT_DEATH(receive_three_packets(fault::one_token, disposition::keep), "in poll: two packets with one token");
}

TEST(checked_fabric, polls_as_much_as_it_says_and_was_asked_for) {
  EXPECT_DEATH(receive_three_packets(fault::wrong_count), "in poll: says 3 events, has handed over 2, was asked for");
  EXPECT_DEATH(receive_three_packets(fault::too_many),
               "in poll: says 3 events, has handed over 3, was asked for at most 2");
}

/// A fabric whose slots and refusals are wrong.
class bad_slots final : public decorator {
 public:
  bad_slots(fabric& inner, int kind) : decorator(inner), kind_(kind) {}
  status acquire(rank_t, slot& out, claim) noexcept override {
    out = {.data = memory_.data(), .capacity = static_cast<std::uint32_t>(caps().packet_bytes_max), .id = 0};
    if (kind_ == 1) out.capacity -= 1;
    if (kind_ == 2) out.data += 8;
    return kind_ == 3 ? status::again : status::ok;
  }

 private:
  int kind_;
  alignas(64) std::array<std::byte, 8192> memory_{};
};

TEST(checked_fabric, hands_out_slots_that_can_be_used) {
  const auto acquire_two = [](int kind) {
    sim::run(1, {}, [&](fabric& plain) {
      bad_slots broken(plain, kind);
      checked own(broken);
      acquired(own, 0);
      acquired(own, 0);
      return 0;
    });
  };
  EXPECT_DEATH(acquire_two(0), "in acquire: a slot that has not been committed was handed out once more");
  EXPECT_DEATH(acquire_two(1), "in acquire: a slot of 4159 bytes; packets have 4160");
  EXPECT_DEATH(acquire_two(2), "in acquire: a slot that is not aligned to a cache line");
  EXPECT_DEATH(acquire_two(3), "in acquire: a refusal has changed the caller's slot");
}

/// A fabric that claims fewer credits than it gives.
class generous final : public decorator {
 public:
  explicit generous(fabric& inner) : decorator(inner), caps_(inner.caps()) {
    caps_.credits_per_peer = 2;
    caps_.slots_per_peer = 2;
  }
  const capabilities& caps() const noexcept override { return caps_; }
  allowance allowance_to(rank_t) const noexcept override { return {.packets = 2, .slots = 2}; }

 private:
  capabilities caps_;
};

TEST(checked_fabric, gives_no_more_credits_than_it_says) {
  const auto with_more = [](auto act) {
    sim::run(1, {}, [&](fabric& plain) {
      generous broken(plain);
      checked own(broken);
      act(own);
      return 0;
    });
  };
  EXPECT_DEATH(with_more([](fabric& own) {
                 for (int i = 0; i < 3; ++i) acquired(own, 0);
               }),
               "in acquire: 3 slots are open to rank 0, more than there are");
  EXPECT_DEATH(with_more([](fabric& own) {
                 mailbox mail(own, [](const packet&) { return disposition::keep; });
                 for (int i = 0; i < 7; ++i) mail.send(0, 1);
                 mail.until([] { return false; });
               }),
               "in poll: 7 packets of rank 0 are held, more than there are credits and slots");
}

}  // namespace
}  // namespace amity::fabric
