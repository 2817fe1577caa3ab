#include "amity/interop/mpi/drop_in/drop_in.hpp"

#include <cstdlib>
#include <memory>
#include <string_view>

#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

constinit std::atomic<drop_in*> self = nullptr;

bool is_switched_off() {
  const char* const value = std::getenv("AMITY_MPI");
  return value != nullptr && std::string_view(value) == "0";
}

}  // namespace

std::atomic<drop_in*>& drop_in::running_now() noexcept { return self; }

void drop_in::start(int threads) {
  if (is_switched_off()) return;
  self.store(new drop_in(threads >= MPI_THREAD_SERIALIZED), std::memory_order_release);
}

void drop_in::end() {
  const std::unique_ptr<drop_in> own(self.load());
  if (own == nullptr) return;
  own->job_.meet_at_end();
  own->windows_.abandon_all();
  self.store(nullptr);
}

}  // namespace amity::mpi
