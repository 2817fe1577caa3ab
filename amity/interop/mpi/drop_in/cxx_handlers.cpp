#include "amity/interop/mpi/drop_in/cxx_handlers.hpp"

#include <atomic>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/native.hpp"

#if defined(MPICH)

namespace amity::mpi {
namespace {

/// The function of the bindings that calls a handler. `kind`: the type of the object.
using caller = void(int kind, int* object, int* code, void (*handler)());

constinit std::atomic<caller*> bindings = nullptr;

void call_handler(int kind, int* object, int* code, void (*handler)()) {
  cxx_handler_calls::count();
  bindings.load(std::memory_order_acquire)(kind, object, code, handler);
}

}  // namespace
}  // namespace amity::mpi

/// Called by the bindings: this handler is one of theirs, and the MPI calls it by `call`, which is always the same.
extern "C" [[gnu::visibility("default")]] void MPII_Errhandler_set_cxx(MPI_Errhandler handler, void (*call)()) {
  using namespace amity::mpi;
  static constinit native_function<decltype(&MPII_Errhandler_set_cxx)> next{"MPII_Errhandler_set_cxx"};
  bindings.store(reinterpret_cast<caller*>(call), std::memory_order_release);  // pairs with the acquire in call_handler
  next(handler, reinterpret_cast<void (*)()>(&call_handler));
}

#endif
