#pragma once

/// Data types of other ranks, which this process has made from their bytes (`encode_type`).

#include <cstddef>
#include <list>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/made_type.hpp"
#include "amity/interop/mpi/drop_in/predefined_types.hpp"

namespace amity::mpi {

/// Keeps the types that were found last, so that each is made once. Memory: `types_max` times the bytes of a type, and
/// what the MPI uses for it. MPI must be initialized while it exists. One thread at a time.
class type_cache : immovable {
 public:
  /// MPICH 4.0.2 packs nothing, and reports no error, once more than about 700 types exist, parts included.
  static constexpr std::size_t types_max_default = 128;

  /// Keeps at most `types_max` types, at least 1. `predefined` must outlive it.
  explicit type_cache(const predefined_types& predefined, std::size_t types_max = types_max_default);

  /// Returns the committed type that `encode_type` has encoded. The caller must not free it. It is valid until
  /// `types_max` other types have been found after it, or until the cache ends. A predefined type is returned as it is.
  /// For a type that the cache has, this is a search in a hash table, without a call of the MPI. Throws the errors of
  /// `decode_type`; the cache does not change then.
  MPI_Datatype find(bytes_view encoded);

 private:
  struct cached {
    std::vector<std::byte> encoded;
    made_type type;
  };

  const predefined_types& predefined_;
  const std::size_t types_max_;
  std::list<cached> by_use_;  ///< the type that was found last is the first
  std::unordered_map<std::string_view, std::list<cached>::iterator> by_bytes_;  ///< views of `by_use_`
};

}  // namespace amity::mpi
