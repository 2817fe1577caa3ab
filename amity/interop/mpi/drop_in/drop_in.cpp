#include "amity/interop/mpi/drop_in/drop_in.hpp"

#include <memory>

#include "amity/base/settings.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

constinit std::atomic<drop_in*> self = nullptr;

}  // namespace

std::atomic<drop_in*>& drop_in::running_now() noexcept { return self; }

void drop_in::start(int threads) {
  const settings config = settings::from_environment();
  if (config.integer("AMITY_MPI") == 0) return;
  auto* const made = new drop_in(threads, config.integer("AMITY_MPI_REPORT") != 0);
  self.store(made, std::memory_order_release);
  made->report_.print_begin(made->job_);
}

void drop_in::end() {
  const std::unique_ptr<drop_in> own(self.load());
  if (own == nullptr) return;
  own->job_.meet_at_end();
  own->windows_.abandon_all();
  own->report_.print_end();
  self.store(nullptr);
}

}  // namespace amity::mpi
