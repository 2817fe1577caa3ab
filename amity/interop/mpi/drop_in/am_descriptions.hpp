#pragma once

/// What active messages of a window have in common, for the core. The descriptions that were used last are kept: a loop
/// over messages with equal types and counts makes one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/am_user_handler.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/mpix_am.h"
#include "amity/window/am_description.hpp"

namespace amity::mpi {

/// Elements whose type has been looked up.
struct known_type {
  explicit known_type(const counted_type& of) : count(of.count), handle(of.type), type(datatype::of(of.type)) {}
  /// The bytes of the data of all elements. Throws `mpi_error` if they are too many.
  std::size_t bytes() const;

  MPI_Count count;
  MPI_Datatype handle;
  const datatype& type;
};

/// What a description is made from. Types are those of the target. `is_vector` is that of the operation.
struct am_shape {
  MPIX_Am_op op;
  bool is_vector;
  const known_type& input;
  const known_type& persistent;
  const known_type& output;
  std::uint64_t persistent_bytes;
};

/// Any thread.
class am_descriptions : private immovable {
 public:
  /// The description of messages of this shape. Throws `mpi_error` if there are no such messages. Without an
  /// allocation, if it is one of the last `kept_max`.
  std::shared_ptr<const amity::detail::am_description> find(const am_shape& of);

  static constexpr std::size_t kept_max = 4;

 private:
  /// Owns its types: the handle of a type that the program has freed can belong to another one.
  struct part {
    std::int64_t count = 0;
    std::shared_ptr<const datatype> type{};
    bool is(const known_type& other) const noexcept { return count == other.count && type.get() == &other.type; }
  };
  struct entry {
    MPIX_Am_op op = MPIX_AM_OP_NULL;
    part input{};
    part persistent{};
    part output{};
    std::shared_ptr<const amity::detail::am_description> description{};
    bool is(const am_shape& of) const noexcept;
  };

  std::mutex mutex_;
  std::array<entry, kept_max> kept_{};
  std::size_t oldest_ = 0;
};

}  // namespace amity::mpi
