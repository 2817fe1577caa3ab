#include "amity/interop/mpi/drop_in/requests.hpp"

#include <algorithm>

#include "amity/core/engine.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// The status of a request whose data did not travel in a message. (MPI-3.1, section 11.3.5.)
int describe(void*, MPI_Status* status) {
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  native::status_set_cancelled(status, 0);
  return native::status_set_elements(status, MPI_BYTE, 0);
}
int release(void*) { return MPI_SUCCESS; }
int cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

MPI_Request pending_requests::make(window& on, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_native(native::grequest_start(describe, release, cancel, nullptr, &request), "MPI_Grequest_start");
  const core::engine::entry entered(job_.world().own_engine(), "MPI");
  if (rank == MPI_PROC_NULL || on.core().is_complete_here(rank)) {
    native::grequest_complete(request);
    return request;
  }
  all_.push_back({.on = &on, .member = rank, .request = request});
  any_.store(true, std::memory_order_relaxed);
  return request;
}

void pending_requests::end(const window& of) {
  const core::engine::entry entered(job_.world().own_engine(), "MPI_Win_free");
  complete_if([&](const pending& each) { return each.on == &of; });
}

void pending_requests::complete_ready_ones() {
  const core::engine::entry entered(job_.world().own_engine(), "MPI");  // another thread that waits lets this one in
  complete_if([](const pending& each) { return each.on->core().is_complete_here(each.member); });
}

void pending_requests::complete_if(function_ref<bool(const pending&)> is_done) {
  std::erase_if(all_, [&](const pending& each) {
    if (!is_done(each)) return false;
    native::grequest_complete(each.request);
    return true;
  });
  any_.store(!all_.empty(), std::memory_order_relaxed);
}

}  // namespace amity::mpi
