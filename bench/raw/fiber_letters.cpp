/// Fibers that send each other letters through one queue of events: what the simulation of so many ranks does at least.
///
/// `m_per_s`: letters that arrive in a second. Each of the fibers sends letters to random ones, which send them back; a
/// fiber goes on once for each letter that it gets.

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

using boost::context::fiber;

struct letter {
  std::uint64_t time_ns;
  std::uint32_t sequence;  // for letters of one time
  std::uint32_t from;
  std::uint32_t to;
  bool answers;  // one that was received

  bool operator<(const letter& other) const noexcept {  // the earliest is the greatest, and next in the queue
    return time_ns != other.time_ns ? time_ns > other.time_ns : sequence > other.sequence;
  }
};

class post {
 public:
  explicit post(std::uint32_t fibers) : boxes_(fibers) {}

  /// Sends and answers all letters; returns how many have arrived.
  std::uint64_t carry(std::uint32_t letters_each) {
    for (std::uint32_t me = 0; me < boxes_.size(); ++me) {
      box& own = boxes_[me];
      own.owner =
          fiber([this, me, letters_each](fiber&& scheduler) { return live(me, letters_each, std::move(scheduler)); });
      own.owner = std::move(own.owner).resume();
    }
    std::uint64_t arrived = 0;
    for (; !under_way_.empty(); ++arrived) {
      box& target = boxes_[under_way_.top().to];
      target.received.push_back(under_way_.top());
      under_way_.pop();
      target.owner = std::move(target.owner).resume();
    }
    return arrived;
  }

 private:
  static constexpr std::uint64_t overhead_ns = 100;
  static constexpr std::uint64_t latency_ns = 1000;

  struct box {
    fiber owner;
    std::vector<letter> received;
    std::uint64_t now_ns = 0;
  };

  void send(std::uint32_t from, std::uint32_t to, bool answers) {
    std::uint64_t& now_ns = boxes_[from].now_ns;
    now_ns += overhead_ns;
    under_way_.push({now_ns + latency_ns, sequence_++, from, to, answers});
  }

  fiber live(std::uint32_t me, std::uint32_t letters, fiber scheduler) {
    xorshift64 random(me);
    box& own = boxes_[me];
    for (std::uint32_t i = 0; i < letters; ++i) {
      send(me, static_cast<std::uint32_t>((random() >> 33) % boxes_.size()), false);
    }
    for (;;) {
      for (const letter& each : own.received) {
        own.now_ns = std::max(own.now_ns, each.time_ns);
        if (!each.answers) send(me, each.from, true);
      }
      own.received.clear();
      scheduler = std::move(scheduler).resume();
    }
  }

  std::vector<box> boxes_;
  std::priority_queue<letter> under_way_;
  std::uint32_t sequence_ = 0;
};

sample measure(const job_context& job) {
  const auto fibers = static_cast<std::uint32_t>(std::stoul(job.args.at("fibers")));
  const auto letters = job.scaled<std::uint32_t>(100, 5);
  post all(fibers);
  const auto begin_ns = steady_now_ns();
  const std::uint64_t arrived = all.carry(letters);
  const auto total_ns = static_cast<double>(steady_now_ns() - begin_ns);
  expect_equal("letters", arrived, std::uint64_t{2} * fibers * letters);
  return {{"m_per_s", static_cast<double>(arrived) / total_ns * 1e3}};
}

}  // namespace

const raw_limit fiber_letters{"fiber_letters", measure};

}  // namespace amity::bench
