#pragma once

/// The endpoints of one world on one rank, one for each thread, and the threads that use them.
///
/// The worlds of a rank share its threads: a further world has an endpoint on each of them, made and ended there.

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/settings.hpp"
#include "amity/core/crew.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class counter_table;
class rank_list;

/// How many threads each rank has with these settings, the progress thread among them.
rank_t threads_per_rank(const settings& config);

/// Throws `error` of `call` where a thread has another number for a handler than thread 0 has.
void check_same_number(std::string_view call, const endpoint& own, handler_id first, handler_id here);

class team : private immovable {
 public:
  /// What uses the endpoints until its own end, and must end before they do: a name for whoever has to tell that it has
  /// not. Thread 0.
  class tenant : private immovable {
   public:
    tenant(team& of, std::string_view name) : team_(of), at_(of.tenants_.insert(of.tenants_.end(), name)) {}
    ~tenant() { team_.tenants_.erase(at_); }

   private:
    team& team_;
    std::list<std::string_view>::iterator at_;
  };

  /// Of the job's own world, for a rank of so many threads. `counters`, if not null, knows the handlers of all worlds
  /// of the rank; it must outlive the endpoints.
  explicit team(rank_t threads, counter_table* counters = nullptr);
  /// Of the world `number` of `members`, ranks of the job in the order of the new ones, on the threads of `beside`.
  /// Thread 0, outside handlers.
  team(team& beside, world_number number, const rank_list& members, const settings& config);
  ~team();

  rank_t size() const noexcept { return crew_->size(); }
  endpoint& lane(rank_t thread) noexcept { return *lanes_[static_cast<std::size_t>(thread)]; }
  crew& threads() noexcept { return *crew_; }
  /// As of the crew.
  void run(function_ref<void(rank_t)> work) { crew_->run(work); }
  /// For destructors, as of the crew; an exception on its way out of an epoch of this world ends the job.
  bool try_run(function_ref<void(rank_t)> work) noexcept;

  /// Runs `work()` on one of the threads, and returns when it has done it. What it throws is rethrown here, and the job
  /// may go on. Thread 0, outside handlers.
  void run_on(rank_t thread, function_ref<void()> work);
  /// Adds a handler on each thread, as of the endpoint, and returns its number. It runs on the thread that a message
  /// comes to, and may run on several at once. Thread 0, on all ranks in the same order, outside handlers.
  handler_id add_handler(std::string_view name, const std::function<void(request&)>& handler);
  void remove_handler(handler_id handler);
  /// As of the crew.
  template <class Done>
  void wait_until(endpoint& own, std::string_view where, Done&& done) {
    crew_->wait_until(own, where, std::forward<Done>(done));
  }

  /// The job's own world: makes the endpoint of the calling thread. It lives until all threads have left. With a
  /// serialized engine, the rank has one thread of the fabric, for all threads of the program.
  endpoint& enter(fabric::fabric& transport, const settings& config, engine::threading how = engine::threading::owned);
  /// Names of those that have not ended.
  const std::list<std::string_view>& tenants() const noexcept { return tenants_; }
  /// Called once by each thread that has entered, when it has done with its fabric, which may then go. Other threads
  /// wait for thread 0 here: it may use their memory until it has left.
  void leave(rank_t thread) noexcept;

 private:
  counter_table* counters_ = nullptr;
  std::shared_ptr<crew> crew_;  ///< shared by the worlds of the rank, which may outlive the job's own
  std::vector<std::unique_ptr<endpoint>> lanes_;
  std::list<std::string_view> tenants_;
  std::atomic<rank_t> left_ = 0;
};

}  // namespace amity::core
