#include "amity/window/window_waits.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "amity/base/log.hpp"
#include "amity/window/window_origin.hpp"

namespace amity::detail {
namespace {

/// Nothing announces that a peer has left the lock of a window that it maps, or ended an accumulate. A sleep until then
/// is short.
constexpr std::uint64_t store_rest_ns = 20'000;

/// Signals of other members, by a look at them.
class watched_signals final : public fabric::watched_memory {
 public:
  watched_signals(function_ref<bool()> look, node_signals& signals) : look_(look), signals_(signals) {}

  bool is_ready() const override { return look_(); }
  void announce() noexcept override { signals_.announce_sleep(); }
  void cancel() noexcept override { signals_.end_sleep(); }
  std::uint64_t sleep_ns_max() const noexcept override { return ~std::uint64_t{0}; }

 private:
  function_ref<bool()> look_;
  node_signals& signals_;
};

/// Numbers that another thread of this rank changes.
class watched_target final : public fabric::watched_memory {
 public:
  watched_target(function_ref<bool()> look, window_target& target) : look_(look), target_(target) {}

  bool is_ready() const override { return look_(); }
  void announce() noexcept override { target_.announce_wait(); }
  void cancel() noexcept override { target_.end_wait(); }
  std::uint64_t sleep_ns_max() const noexcept override { return ~std::uint64_t{0}; }

 private:
  function_ref<bool()> look_;
  window_target& target_;
};

/// Transfers that the progress thread of this rank carries out: any that becomes complete ends the sleep.
class watched_transfers final : public fabric::watched_memory {
 public:
  explicit watched_transfers(long_transfers* of) : of_(of) {}

  /// Call it before each look at what depends on them.
  void look() noexcept {
    if (of_ != nullptr) seen_ = of_->completed();
  }
  bool is_ready() const override { return of_->completed() != seen_; }
  void announce() noexcept override { of_->announce_wait(); }
  void cancel() noexcept override { of_->end_wait(); }
  // Fabrics without a descriptor to sleep on find the packet of the progress thread late.
  std::uint64_t sleep_ns_max() const noexcept override { return of_->done() ? ~std::uint64_t{0} : store_rest_ns; }

 private:
  long_transfers* of_;
  std::uint64_t seen_ = 0;
};

/// Locks that this rank maps. Members that leave one do not announce it, except the progress thread of this rank.
class watched_locks final : public fabric::watched_memory {
 public:
  watched_locks(std::span<window_peer* const> wanted, window_target& own) : wanted_(wanted), own_(own) {}

  bool is_ready() const override {
    return std::ranges::any_of(wanted_, [](const window_peer* each) {
      return each->has_ticket && each->control->lock.is_turn_of(each->lock, each->ticket);
    });
  }
  void announce() noexcept override { own_.announce_wait(); }
  void cancel() noexcept override { own_.end_wait(); }
  std::uint64_t sleep_ns_max() const noexcept override { return store_rest_ns; }

 private:
  std::span<window_peer* const> wanted_;
  window_target& own_;
};

/// Accumulates that others carry out in the memory of a member. They do not announce their end.
class watched_accumulates final : public fabric::watched_memory {
 public:
  watched_accumulates(const std::vector<window_peer*>& origins, rank_t member) : origins_(origins), member_(member) {}

  bool is_ready() const override {
    return std::ranges::any_of(origins_,
                               [this](const window_peer* each) { return !each->control->accumulates.uses(member_); });
  }
  void announce() noexcept override {}
  void cancel() noexcept override {}
  std::uint64_t sleep_ns_max() const noexcept override { return store_rest_ns; }

 private:
  const std::vector<window_peer*>& origins_;
  rank_t member_;
};

}  // namespace

window_waits::window_waits(core::endpoint& in, window_target& own, rank_t target_thread,
                           const access_rules::identity& whose, const access_rules& rules)
    : endpoint_(in), target_(own), target_thread_(target_thread), whose_(whose), rules_(rules) {}

std::string window_waits::label_of(std::string_view call, const reason& why) {
  std::string label = std::exchange(label_, {});
  label.assign(call).append(" of ").append(whose_.window).append(", ").append(rules_.epoch_of(call));
  if (why.target != no_rank) label.append(", target ").append(std::to_string(why.target));
  label.append(": ").append(why.what);
  return label;
}

void window_waits::until(std::string_view call, function_ref<reason()> why, function_ref<bool()> done,
                         fabric::watched_memory* stores) {
  watched_transfers transfers(target_.transfers());
  transfers.look();
  if (done()) {
    // Stores alone may let a rank go through all its epochs, and others wait for it to make progress.
    if (stores != nullptr) endpoint_.own_engine().pace(endpoint_);
    return;
  }
  // A short wait needs no label: in its first idle round, the answer comes. Under virtual time, the first sleep may be
  // the last one.
  std::string label;
  std::string_view where = call;
  reason named{.what = {}, .target = no_rank};
  const core::engine& own = endpoint_.own_engine();
  const bool is_simulated = own.transport().caps().virtual_time;
  const auto is_done = [&] {
    transfers.look();
    if (done()) return true;
    if (own.idle_rounds() <= 1 && !is_simulated) return false;
    const reason now = why();
    if (now.target == named.target && now.what.data() == named.what.data()) return false;
    named = now;
    if (!label.empty()) label_ = std::move(label);
    label = label_of(call, now);
    where = label;
    return false;
  };
  const core::engine::attentive_wait attentive(endpoint_.own_engine());
  endpoint_.own_engine().wait_until(
      endpoint_, where, is_done, [] { return false; },
      stores == nullptr && target_.transfers() != nullptr ? &transfers : stores);
  if (!label.empty()) label_ = std::move(label);
}

void window_waits::for_operations(std::string_view call, std::span<window_peer* const> all) {
  const window_peer* next = nullptr;
  const auto why = [&] { return reason{.what = window_origin::describe_unfinished(*next), .target = next->member}; };
  const auto done = [&] {
    const auto found =
        std::ranges::find_if_not(all, [](const window_peer* each) { return window_origin::done(*each); });
    if (found == all.end()) return true;
    next = *found;
    return false;
  };
  until(call, why, done, nullptr);
}

void window_waits::for_target(std::string_view call, std::string_view what, function_ref<bool()> done) {
  watched_target watched(done, target_);
  until(call, what, no_rank, done, target_thread_ == endpoint_.thread() ? nullptr : &watched);
}

void window_waits::for_signals(std::string_view call, std::string_view what, rank_t target, node_signals& signals,
                               function_ref<bool()> done, function_ref<bool()> look) {
  watched_signals watched(look, signals);
  until(call, what, target, done, &watched);
}

void window_waits::for_locks(std::string_view call, std::string_view what, std::span<window_peer* const> all,
                             function_ref<bool()> ready) {
  watched_locks watched(all, target_);
  const bool has_tickets = std::ranges::any_of(all, [](const window_peer* each) { return each->has_ticket; });
  try {
    until(call, what, all.front()->member, ready, has_tickets ? &watched : nullptr);
  } catch (...) {
    report_holders(call, all);
    throw;
  }
}

void window_waits::for_accumulates(std::string_view call, std::vector<window_peer*> origins) {
  watched_accumulates watched(origins, whose_.member);
  const auto why = [&] { return reason{.what = "waits for its accumulate", .target = origins.front()->member}; };
  const auto done = [&] {
    std::erase_if(origins, [this](const window_peer* each) { return !each->control->accumulates.uses(whose_.member); });
    return origins.empty();
  };
  until(call, why, done, &watched);
}

// The job has failed, maybe because the holder of a lock was killed.
void window_waits::report_holders(std::string_view call, std::span<window_peer* const> all) const noexcept {
  for (const window_peer* const each : all) {
    const std::int32_t holder = each->control == nullptr ? 0 : each->control->holder.load(std::memory_order_relaxed);
    if (!each->has_ticket || holder == 0) continue;
    try {
      log_warning(whose_.member, fmt::format("{} of {}: the job has failed while rank {} held the lock of rank {}",
                                             call, whose_.window, holder - 1, each->member));
    } catch (const std::bad_alloc&) {
    }
  }
}

}  // namespace amity::detail
