#include "amity/world/run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/base/standard_descriptors.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/checked.hpp"
#include "amity/fabric/mpi/mpi.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/traced.hpp"
#include "amity/world/bootstrap/starter.hpp"
#include "amity/world/counters_on_signal.hpp"
#include "amity/world/counters_report.hpp"
#include "amity/world/crash_report.hpp"
#include "amity/world/exit_watch.hpp"
#include "amity/world/handler_costs.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/run_on.hpp"
#include "amity/world/transport.hpp"

namespace amity::detail {
namespace {

/// An exception of the program's own, and the rank that it has left.
struct program_failed {
  std::string what;
};

/// Prints the exception that is being handled, once, and returns the exit status for it.
int report_failure() noexcept {
  try {
    throw;
  } catch (const job_aborted&) {
    // The rank that ended the job has said why.
  } catch (const error& mistake) {
    std::fprintf(stderr, "%s\n", mistake.what());
  } catch (const program_failed& failed) {
    std::fprintf(stderr, "amity: the program ended with an exception on %s\n", failed.what.c_str());
  } catch (const std::exception& other) {
    std::fprintf(stderr, "amity: the program ended with an exception: %s\n", other.what());
  } catch (...) {
    std::fprintf(stderr, "amity: the program ended with an exception of unknown type\n");
  }
  return 1;
}

/// Of a status the system keeps the low eight bits, which must not be those of success.
int kept_as_failure(int status) { return status != 0 && status % 256 == 0 ? 1 : status; }

void tell_of_status(rank_t rank, int status) {
  log_warning(rank, fmt::format("the program ended with status {}, and so does the job", status));
}

/// Prints each rank's report, in the order of the ranks. Collective.
void print_in_turn(world& own, const std::string& report) {
  auto& endpoint = own.endpoint();
  bool my_turn = own.rank() == 0;
  const auto turn = endpoint.add_handler("turn to print", [&](core::request&) { my_turn = true; });
  own.barrier();  // all have it
  endpoint.wait_until("the trace report of the rank before", [&] { return my_turn; });
  std::fputs(report.c_str(), stderr);
  if (own.rank() + 1 < own.size()) endpoint.send(endpoint.main_threads().lane(own.rank() + 1), turn, {});
  own.barrier();  // none is needed any more
  endpoint.remove_handler(turn);
}

/// What a program has made it must also end: a handler that outlives it would run on what is gone.
void check_handlers_ended(world& own, std::uint64_t at_start) {
  const auto& handlers = own.endpoint().handlers();
  if (handlers.fingerprint() == at_start) return;
  throw error("amity::run", own.rank(),
              fmt::format("the program has ended before its message types; there are still: {}", handlers.describe()),
              "let every message type end inside the program, at the latest with it");
}

void check_worlds_ended(world& own) {
  const std::size_t worlds = own.endpoint().own_engine().worlds();
  if (worlds == 1) return;
  throw error("amity::run", own.rank(),
              fmt::format("the program has ended before the worlds that it has made; there are still {}", worlds - 1),
              "let every world end inside the program, at the latest with it");
}

/// What leaves a program says on which rank, and in which handler.
int with_place_named(core::endpoint& own, const std::function<int()>& work) {
  const auto fail = [&](std::string_view what) {
    const std::string handler = own.own_engine().failure().place_of(std::current_exception());
    throw program_failed{fmt::format("rank {}{}{}: {}", own.rank(), handler.empty() ? "" : ", ", handler, what)};
  };
  try {
    return work();
  } catch (const error& mistake) {
    if (own.own_engine().failure().place_of(std::current_exception()).empty()) throw;
    fail(mistake.what());
  } catch (const job_aborted&) {
    throw;
  } catch (const std::exception& other) {
    fail(other.what());
  } catch (...) {
    fail("of unknown type");
  }
  return 1;
}

/// Whether it says that another thread or rank has ended the job.
bool is_abort(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const job_aborted&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Tells the team when a thread has done with its fabric, in whichever way.
class membership : private immovable {
 public:
  membership(core::team& threads, rank_t thread) : threads_(threads), thread_(thread) {}
  ~membership() { threads_.leave(thread_); }

 private:
  core::team& threads_;
  rank_t thread_;
};

int run_main_thread(core::team& threads, const settings& config, const std::function<int(world&)>& program,
                    const fabric::traced* traced) {
  threads.threads().assemble();
  core::counter_book ended_counters;
  world own(threads, config);
  const bool counts_messages = config.integer("AMITY_MESSAGE_COUNTERS") != 0;
  if (counts_messages) own.endpoint().set_counter_book(&ended_counters);
  const std::uint64_t handlers_at_start = own.endpoint().handlers().fingerprint();
  const int status = kept_as_failure(program(own));
  // A failure does not wait for the others.
  if (status != 0) return status;
  check_handlers_ended(own, handlers_at_start);
  check_worlds_ended(own);
  // No rank leaves before all are ready to: a message to it would find nobody.
  static_cast<void>(own.endpoint().reduce(core::reduction::ending, 0));
  if (counts_messages) {
    const std::string table = counters_report(own, ended_counters);
    if (own.rank() == 0) std::fputs(table.c_str(), stderr);
  }
  if (traced != nullptr) print_in_turn(own, traced->report());
  return 0;
}

/// If a thread that does not run the program fails, it calls `give_up`, which ends the job, while its exception is the
/// current one. Then it waits for thread 0, which may use its memory until it hears of that.
int run_thread(fabric::fabric& transport, core::team& threads, const settings& config, exit_watch& exits,
               const std::function<int(world&)>& program, const std::function<void()>& give_up) {
  fabric::fabric* used = &transport;
  std::optional<fabric::checked> checked;
  if (config.integer("AMITY_FABRIC_CHECKED") != 0) used = &checked.emplace(*used);
  std::optional<fabric::traced> traced;  // the outer one: it counts what amity sends, not what a check adds
  if (config.integer("AMITY_FABRIC_TRACED") != 0) used = &traced.emplace(*used);
  core::endpoint& own = threads.enter(*used, config);
  const membership inside(threads, own.thread());
  const exit_watch::runner named(exits, own.rank());
  try {
    return with_place_named(own, [&] {
      if (own.thread() == 0) return run_main_thread(threads, config, program, traced ? &*traced : nullptr);
      threads.threads().serve(own.thread());
      return 0;
    });
  } catch (...) {
    if (own.thread() > 0) give_up();
    throw;
  }
}

/// A program may make settings of its own, but it cannot know which rank of which job its launcher has started.
settings with_launchers_word(settings config) {
  for (const char* const name : {"AMITY_RANK", "AMITY_RANKS", "AMITY_JOB_FD"}) {
    if (const char* const value = std::getenv(name)) config.set(name, value);
  }
  return config;
}

int run_simulated(const settings& config, rank_t ranks, rank_t lanes, const fabric::sim::rank_main& lane_main) {
  auto network = fabric::sim::sim_options::from(config).for_lanes(lanes);
  handler_costs costs(config, network.handler);
  if (!costs.empty()) network.handler_of = [&](std::uint64_t header) { return costs.of(header); };
  fabric::sim::running_lane running;
  network.running = &running;
  const crash_place here(running, lanes);
  const auto ended = fabric::sim::run(ranks * lanes, network, lane_main);
  if (ended.status != 0 && ranks > 1) tell_of_status(ended.failed / lanes, ended.status);
  for (const std::string& name : costs.unmet()) {
    log_warning(no_rank,
                fmt::format("AMITY_SIM_HANDLERS_*: no message of '{}' has come; AMITY_MESSAGE_COUNTERS=1 shows "
                            "the names of message types",
                            name));
  }
  return ended.status;
}

/// All ranks of a job in this process.
int run_all_ranks(const settings& config, rank_t ranks, const std::function<int(world&)>& program) {
  const rank_t each = core::threads_per_rank(config);
  counters_on_signal counters(config, 0, ranks);
  std::vector<std::unique_ptr<core::team>> teams;
  for (rank_t rank = 0; rank < ranks; ++rank) {
    teams.push_back(std::make_unique<core::team>(each, counters.table_of(rank)));
  }
  exit_watch exits([](int) {});
  const crash_report crashes;
  const auto lane_main = [&](fabric::fabric& transport) {
    return run_thread(transport, *teams[static_cast<std::size_t>(transport.rank() / each)], config, exits, program,
                      [&] { transport.abort(); });
  };
  if (config.text("AMITY_FABRIC") == "sim") return run_simulated(config, ranks, each, lane_main);
  std::atomic_flag told;  // of the first that fails: the others may all do
  return fabric::shm::run_threads(config, ranks * each, [&](fabric::fabric& transport) {
    const crash_place here(transport.rank(), each);
    const int status = lane_main(transport);
    if (status != 0 && ranks > 1 && !told.test_and_set()) tell_of_status(transport.rank() / each, status);
    return status;
  });
}

/// The rank that this process is.
int run_one_rank(settings config, const std::function<int(world&)>& program) {
  const rank_t each = core::threads_per_rank(config);
  const connection by = connect(config);
  config.set("AMITY_FABRIC", by.fabric);
  const auto rank =
      by.start ? by.start->rank() : std::max<rank_t>(0, static_cast<rank_t>(config.integer("AMITY_RANK")));
  counters_on_signal counters(config, rank, 1);
  core::team threads(each, counters.table_of(rank));
  std::atomic_flag reported;
  std::unique_ptr<fabric::lanes> joined;
  exit_watch exits([&](int) {
    if (joined) joined->abort();
    if (by.start) by.start->abort();
  });
  // The reason is printed before anybody hears of the failure: a manager of processes ends this one as soon as another
  // has ended for that.
  const auto lane_main = [&](fabric::fabric& transport) {
    const auto give_up = [&] {
      transport.abort();
      if (by.start) by.start->abort();  // it takes no leave of whoever has started it
    };
    const auto report_and_give_up = [&] {
      if (!is_abort(std::current_exception()) && !reported.test_and_set()) report_failure();
      give_up();
    };
    try {
      const int status = run_thread(transport, threads, config, exits, program, report_and_give_up);
      // Amity's launcher says it itself.
      if (status != 0 && !by.is_watched()) tell_of_status(transport.rank() / each, status);
      return status;
    } catch (...) {
      report_and_give_up();
      if (is_abort(std::current_exception())) throw;  // the status is that of the thread that has ended the job
      return 1;
    }
  };
  joined = join_job(config, by, each);
  if (each > 1) return fabric::run_lanes(*joined, lane_main);
  const auto transport = joined->enter(0);
  const int status = lane_main(*transport);
  // A rank that fails takes no leave of the others.
  if (status != 0 && !by.is_watched()) transport->abort();
  return status;
}

void print_warnings(const settings& config) {
  for (const std::string& warning : config.warnings()) log_warning(no_rank, warning);
}

fabric::mpi::family family_of(mpi_family program) {
  return program == mpi_family::open_mpi ? fabric::mpi::family::open_mpi : fabric::mpi::family::mpich;
}

/// As what `run_thread` does on each thread of this process, in a job of MPI. Nothing: it has failed, and reported
/// that.
std::optional<int> run_with_mpi(fabric::mpi::job& joined, const settings& config,
                                const std::function<int(world&)>& program) {
  std::atomic_flag reported;
  const auto report = [&] {
    if (!reported.test_and_set()) report_failure();
  };
  try {
    if (joined.rank() == 0) {
      print_warnings(config);
      if (!joined.warning().empty()) log_warning(no_rank, joined.warning());
      if (is_shown(config)) log_warning(no_rank, fmt::format("fabric: mpi uses {}", joined.mpi()));
    }
    counters_on_signal counters(config, joined.rank(), 1);
    core::team threads(core::threads_per_rank(config), counters.table_of(joined.rank()));
    // An MPI exits by itself when another process has ended the job.
    exit_watch exits([&](int status) { joined.kill(status); }, &fabric::mpi::is_inside_mpi);
    return joined.run([&](fabric::fabric& transport) {
      return run_thread(transport, threads, config, exits, program, [&] {
        if (!is_abort(std::current_exception())) report();  // before others hear of it, who end this process
        transport.abort();
      });
    });
  } catch (...) {
    report();
    return std::nullopt;
  }
}

/// The rank that MPI's launcher has made of this process. It ends the others when a rank fails.
int run_rank_of_mpi(const settings& config, const std::function<int(world&)>& program) {
  const auto joined = fabric::mpi::job::of_launcher(config, core::threads_per_rank(config));
  const std::optional<int> ended = run_with_mpi(*joined, config, program);
  const int status = ended.value_or(1);
  if (status == 0) return 0;
  if (ended) tell_of_status(joined->rank(), status);
  std::fflush(nullptr);
  joined->kill(status);
  return status;
}

}  // namespace

int report_startup_failure() noexcept { return report_failure(); }

int run_on_communicator(int communicator, mpi_family family, const settings& config,
                        const std::function<int(world&)>& program) try {
  const auto joined =
      fabric::mpi::job::of_communicator(communicator, family_of(family), config, core::threads_per_rank(config));
  const std::optional<int> ended = run_with_mpi(*joined, config, program);
  const int status = ended.value_or(1);
  if (ended && status != 0) log_warning(joined->rank(), fmt::format("the program ended with status {}", status));
  if (status != 0) joined->abort();
  return status;
} catch (...) {
  return report_failure();
}

int run_job(const settings& given, int argc, const char* const* argv, const std::function<int(world&)>& program) try {
  open_missing_standard_descriptors();
  const bool asks_launcher = ranks_are_processes(given.text("AMITY_FABRIC")) && given.integer("AMITY_RANK") < 0;
  settings config = asks_launcher && std::getenv("AMITY_RANK") != nullptr ? with_launchers_word(given) : given;
  // All others are decided about when the ranks know where they are.
  const choice made = choose_fabric(circumstances::of(config, is_shown(config), find_starter(config)));
  if (made.fabric == "mpi") config.set("AMITY_FABRIC", made.fabric);
  const auto ranks = static_cast<rank_t>(config.integer("AMITY_RANKS"));
  const std::string& kind = config.text("AMITY_FABRIC");
  if (!ranks_are_processes(kind) && is_first_process(config)) show(config, made);
  if (kind == "mpi") return run_rank_of_mpi(config, program);
  const bool processes = ranks_are_processes(kind);
  if (!processes) refuse_to_be_many_jobs(kind);
  // Before the warnings: rank 0 of the launched job prints them.
  if (processes && find_starter(config) == starter::nobody) {
    refuse_to_be_one_of_many();
    if (ranks > 1) return self_launch(config, argc, argv);
  }
  if (!processes || is_first_process(config)) print_warnings(config);
  return processes ? run_one_rank(config, program) : run_all_ranks(config, ranks, program);
} catch (...) {
  return report_failure();
}

}  // namespace amity::detail
