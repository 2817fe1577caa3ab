#include "amity/interop/mpi/drop_in/drop_in.hpp"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

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
  const std::unique_ptr<drop_in> own(self.running.load());
  if (own != nullptr) {
    own->job_.meet_at_end();
    own->windows_.abandon_all();
  }
  reporting->print_end();
  self.running.store(nullptr);
  self.reporting.store(nullptr);
}

std::optional<std::string> drop_in::find_open_epoch(std::string_view call) noexcept {
  if (process_ != ::getpid()) return std::nullopt;
  const core::engine::entry entered(job_.world().own_engine(), std::try_to_lock);
  if (!entered.entered() || job_.world().in_handler() || job_.world().own_engine().failure().exists())
    return std::nullopt;
  try {
    windows_.check_ends(call);
  } catch (const std::exception& mistake) {
    return mistake.what();
  }
  return std::nullopt;
}

}  // namespace amity::mpi
