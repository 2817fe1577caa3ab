#pragma once

/// The data types of a process, found by their handles.
///
/// Predefined types are in a table. A type that the program has made has its `datatype` as an attribute, which the MPI
/// deletes with the type. As attributes take long to find, each thread remembers some types. All threads forget theirs
/// when the MPI deletes an attribute, because handles of types that are freed are used again.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/predefined_types.hpp"

namespace amity::mpi {

class datatype_store : immovable {
 public:
  /// See `datatype::of`.
  const datatype& find(MPI_Datatype type) {
    const contents* all = contents_.load(std::memory_order_acquire);  // pairs with the release in make_contents()
    if (all == nullptr) all = &make_contents();
    const std::size_t index = all->predefined.index_of(type);
    if (index < all->datatypes.size()) return *all->datatypes[index];
    return find_attribute(*all, type);
  }
  /// See `datatype::predefined`.
  const predefined_types& predefined() {
    const contents* const all = contents_.load(std::memory_order_acquire);  // pairs with the release in make_contents()
    return all != nullptr ? all->predefined : make_contents().predefined;
  }
  /// See `datatype::release_all`.
  void release();

 private:
  /// What needs an initialized MPI.
  struct contents : immovable {
    explicit contents(datatype_store& store);
    ~contents();

    predefined_types predefined;
    std::vector<std::shared_ptr<const datatype>> datatypes;  ///< of `predefined`, by index
    MPI_Comm communicator = MPI_COMM_NULL;                   ///< returns errors; for nothing else than to ask the MPI
    int keyval = MPI_KEYVAL_INVALID;
  };

  const contents& make_contents();
  const datatype& find_attribute(const contents& all, MPI_Datatype type);
  const datatype& make_attribute(const contents& all, MPI_Datatype type);
  /// The MPI calls this when a type is freed.
  static int delete_attribute(MPI_Datatype type, int keyval, void* attribute, void* store);

  std::mutex mutex_;  ///< of threads that make contents or attributes
  std::atomic<const contents*> contents_{nullptr};
  /// Counts the attributes that the MPI has deleted, from 1.
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace amity::mpi
