#include "amity/interop/mpi/drop_in/drop_in.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/base/settings.hpp"
#include "amity/core/engine.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// What the functions of MPI find.
struct process_state {
  std::atomic<drop_in*> running = nullptr;
  std::atomic<report*> reporting = nullptr;  ///< there before `running`, and after it
  std::atomic<bool> has_explained_sessions = false;
  std::atomic<bool> has_aborted = false;
};

constinit process_state self;

}  // namespace

std::atomic<drop_in*>& drop_in::running_now() noexcept { return self.running; }

report* drop_in::reporting() noexcept { return self.reporting.load(std::memory_order_acquire); }

bool drop_in::is_switched_off() noexcept {
  const char* const wanted = std::getenv("AMITY_MPI");
  return wanted != nullptr && std::string_view(wanted) == "0";
}

void drop_in::explain_window_of_session(std::string_view call) {
  int has_begun = 0;
  native::initialized(&has_begun);
  if (has_begun != 0 || is_switched_off() || self.has_explained_sessions.exchange(true)) return;
  log_warning(no_rank, fmt::format("{}: the MPI serves this window and all others of sessions (MPI_Session_init); call "
                                   "MPI_Init, and create windows of processes of MPI_COMM_WORLD to use amity",
                                   call));
}

void drop_in::start(int threads) {
  const settings config = settings::from_environment();
  auto start = std::make_shared<bootstrap>(config);
  if (!start->is_switched_on(config.integer("AMITY_MPI") != 0)) return;
  auto reporting = std::make_unique<report>(config.integer("AMITY_MPI_REPORT") != 0);
  if (const std::optional<std::string> difference = start->find_difference()) {
    reporting->leave_all_windows(*difference);
    self.reporting.store(reporting.release(), std::memory_order_release);
    return;
  }
  auto* const made = new drop_in(config, std::move(start), threads);
  reporting->print_begin(made->job_);
  self.reporting.store(reporting.release(), std::memory_order_release);
  self.running.store(made, std::memory_order_release);
}

void drop_in::end() {
  const std::unique_ptr<report> reporting(self.reporting.load());
  if (reporting == nullptr) return;
  std::unique_ptr<drop_in> own(self.running.load());
  if (own != nullptr) {
    try {
      own->job_.meet_at_end();
    } catch (const std::exception& failed) {
      const rank_t rank = own.release()->job_.world().rank();  // stays: the job is aborted
      std::fprintf(stderr, "%s\n", failed.what());
      throw error("MPI_Finalize", rank,
                  "the job has failed, so this call cannot wait for all processes, and aborts the job",
                  "call MPI_Abort or exit after an error that names a process that has ended");
    }
    own->windows_.abandon_all();
  }
  reporting->print_end();
  self.running.store(nullptr);
  self.reporting.store(nullptr);
}

void drop_in::note_abort() noexcept { self.has_aborted = true; }

const window* drop_in::find_open_epoch() noexcept {
  if (process_ != ::getpid() || self.has_aborted) return nullptr;
  // The progress thread leaves the engine soon.
  for (int attempts = 100; attempts > 0; --attempts) {
    const core::engine::entry entered(job_.world().own_engine(), std::try_to_lock);
    if (entered.entered()) {
      const bool is_over = job_.world().in_handler() || job_.world().own_engine().failure().exists();
      return is_over ? nullptr : windows_.find_open_epoch();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return nullptr;
}

}  // namespace amity::mpi
