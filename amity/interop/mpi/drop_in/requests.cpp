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

pending_requests::~pending_requests() {
  if (!all_.empty()) job_.world().own_engine().detach(*this);
}

MPI_Request pending_requests::make(window& on, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_native(native::grequest_start(describe, release, cancel, nullptr, &request), "MPI_Grequest_start");
  if (rank == MPI_PROC_NULL || on.core().test_local(rank)) {
    native::grequest_complete(request);
    return request;
  }
  core::engine& own = job_.world().own_engine();
  const core::engine::entry entered(own, "MPI");
  if (all_.empty()) own.attach(*this);
  all_.push_back({.on = &on, .member = rank, .request = request});
  return request;
}

void pending_requests::end(const window& of) {
  const core::engine::entry entered(job_.world().own_engine(), "MPI_Win_free");
  static_cast<void>(complete_if([&](const pending& each) { return each.on == &of; }));
}

bool pending_requests::on_progress() {
  return complete_if([](const pending& each) { return each.on->core().is_complete_here(each.member); });
}

bool pending_requests::complete_if(function_ref<bool(const pending&)> is_done) {
  const std::size_t removed = std::erase_if(all_, [&](const pending& each) {
    if (!is_done(each)) return false;
    native::grequest_complete(each.request);
    return true;
  });
  if (removed > 0 && all_.empty()) job_.world().own_engine().detach(*this);
  return removed > 0;
}

}  // namespace amity::mpi
