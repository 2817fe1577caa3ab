#include "amity/core/team.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/rank_list.hpp"

namespace amity::core {

rank_t threads_per_rank(const settings& config) {
  return static_cast<rank_t>(config.integer("AMITY_THREADS") + config.integer("AMITY_PROGRESS_THREAD"));
}

void check_same_number(std::string_view call, const endpoint& own, handler_id first, handler_id here) {
  if (first == here) return;
  throw error(
      call, own.rank(),
      fmt::format("its handler is number {} on thread 0 and number {} on thread {}", first, here, own.thread()),
      "with several threads, add handlers to all of them, by team::add_handler, not to world::endpoint() alone");
}

team::team(rank_t threads, counter_table* counters)
    : counters_(counters), crew_(std::make_shared<crew>(threads)), lanes_(static_cast<std::size_t>(threads)) {}

team::team(team& beside, world_number number, const rank_list& members, const settings& config)
    : crew_(beside.crew_), lanes_(beside.lanes_.size()) {
  run([&](rank_t thread) {
    lanes_[static_cast<std::size_t>(thread)] = std::make_unique<endpoint>(beside.lane(thread), number, members, config);
  });
}

team::~team() {
  if (lanes_.empty() || lanes_[0] == nullptr || lanes_[0]->number() == 0) return;
  // If the job is ending, endpoints that the threads do not destroy are destroyed with the vector.
  try_run([this](rank_t thread) { lanes_[static_cast<std::size_t>(thread)].reset(); });
}

void team::run_on(rank_t thread, function_ref<void()> work) {
  std::exception_ptr failure;
  run([&](rank_t index) {
    if (index != thread) return;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

handler_id team::add_handler(std::string_view name, const std::function<void(request&)>& handler) {
  lane(0).check_own_call("team::add_handler");
  std::vector<handler_id> made(static_cast<std::size_t>(size()));
  run([&](rank_t thread) { made[static_cast<std::size_t>(thread)] = lane(thread).add_handler(name, handler); });
  const auto other = std::ranges::find_if(made, [&](handler_id id) { return id != made[0]; });
  if (other != made.end()) {
    run([&](rank_t thread) { lane(thread).remove_handler(made[static_cast<std::size_t>(thread)]); });
    check_same_number("team::add_handler", lane(static_cast<rank_t>(other - made.begin())), made[0], *other);
  }
  return made[0];
}

void team::remove_handler(handler_id handler) {
  lane(0).check_own_call("team::remove_handler");
  run([&](rank_t thread) { lane(thread).remove_handler(handler); });
}

bool team::try_run(function_ref<void(rank_t)> work) noexcept {
  // Messages of the epoch still arrive, and would be told that their handlers do not exist any more.
  if (std::uncaught_exceptions() > 0 && lane(0).epoch_open()) crew_->abandon();
  return crew_->try_run(work);
}

endpoint& team::enter(fabric::fabric& transport, const settings& config, engine::threading how) {
  auto own = std::make_unique<endpoint>(transport, config, size(), how);
  if (counters_ != nullptr) own->set_counter_table(*counters_);
  const auto thread = static_cast<std::size_t>(own->thread());
  crew_->enter(*own);
  lanes_[thread] = std::move(own);
  return *lanes_[thread];
}

void team::leave(rank_t thread) noexcept {
  if (const auto& own = lanes_[static_cast<std::size_t>(thread)]; own != nullptr) {
    if (thread > 0) crew_->await_leader(thread);
    own->own_engine().leave_fabric();
  }
  if (thread == 0) crew_->leave();
  // The last one, so that no thread misses an endpoint of another while it unwinds.
  if (left_.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) lanes_.clear();
}

}  // namespace amity::core
