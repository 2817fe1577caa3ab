#pragma once

/// What a window needs to know of an MPI data type.
///
/// It is found by the handle of the type. For a type that the program has made, it is an attribute of the type, and so
/// it ends when the MPI frees the type. Handles of other processes have no meaning here: what travels is a layout, or
/// the bytes that `encoded` returns.
///
/// **Pairs.** The type map of MPI_DOUBLE_INT has 12 bytes, those of its two numbers, and an extent of 16. Puts and gets
/// transfer the 12 bytes, so that the types at origin and target may have different padding. Accumulates combine
/// elements that include the padding: `value_location<double, int>`, 16 bytes. A type that is made of pairs of one
/// kind therefore has two layouts, `data` and `elements`. A type that has pairs among others has no elements, as
/// MPI does not allow accumulates on it.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/predefined_types.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"
#include "amity/interop/mpi/drop_in/type_map.hpp"
#include "amity/window/layout.hpp"

namespace amity::mpi {

/// Where the data of several items lies. Made for a count when it is first used, and kept for the last count. Any
/// thread.
class counted_layout : immovable {
 public:
  /// `one` is the layout of one item; items are `extent` bytes apart.
  counted_layout(const layout& one, std::ptrdiff_t extent);

  const layout& of_one() const noexcept { return *one_; }
  /// The data of one item, without gaps.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Where the data of one item begins, in bytes from the address of the buffer.
  std::ptrdiff_t first() const noexcept { return first_; }
  /// Whether the data of `count` items is one block, or there is none.
  bool is_block(std::size_t count) const noexcept { return count <= 1 ? is_block_ : is_dense_; }
  /// The layout of `count` items, relative to the address of the buffer. Null if their data is one block, which then
  /// begins `first()` bytes from that address, or if there is no data.
  std::shared_ptr<const layout> of(std::size_t count) const {
    if (is_block(count)) [[likely]]
      return nullptr;
    return find(count);
  }

 private:
  std::shared_ptr<const layout> find(std::size_t count) const;

  std::shared_ptr<const layout> one_;
  std::ptrdiff_t extent_;
  std::size_t bytes_;
  std::ptrdiff_t first_;
  bool is_block_;             ///< the data of one item is
  bool is_dense_;             ///< the data of any number of items is one block
  mutable std::mutex mutex_;  ///< for what follows
  mutable std::size_t last_count_ = 0;
  mutable std::shared_ptr<const layout> last_;
};

/// Does not change. Any thread may use it.
class datatype : public std::enable_shared_from_this<datatype>, immovable {
 public:
  /// The type of a handle, until the MPI frees the type: at least as long as the caller may use the handle. The caller
  /// keeps it longer by `shared_from_this()`. Any thread, while MPI is initialized. A few ns for predefined types, and
  /// for others that this thread has used shortly before. Throws `mpi_error` with MPI_ERR_TYPE if it is
  /// MPI_DATATYPE_NULL or has not been committed.
  static const datatype& of(MPI_Datatype type);
  /// The bytes of the type for other ranks (`encode_type`), made by the first call. They are valid as long as the
  /// `datatype`. Throws what `of` and `encode_type` throw. Any thread.
  static bytes_view encoded(MPI_Datatype type);
  /// All predefined types that have names. Valid until `release_all`. Any thread.
  static const predefined_types& predefined();
  /// Before the MPI ends: releases what `of` has made, except attributes of types. Later calls of `of` make it again.
  static void release_all();

  datatype(const predefined_type& type, const type_extent& bounds);
  datatype(const type_map& map, const type_extent& bounds, bool is_predefined);

  /// The bytes of the data of one item, without gaps.
  std::size_t size() const noexcept { return data_.bytes(); }
  std::ptrdiff_t lower_bound() const noexcept { return bounds_.lower_bound; }
  std::ptrdiff_t extent() const noexcept { return bounds_.extent; }
  /// Where the data of one item begins, and how many bytes from there it ends; both 0 if there is none.
  std::ptrdiff_t true_lower_bound() const noexcept { return data_.first(); }
  std::ptrdiff_t true_extent() const noexcept { return data_.of_one().end() - data_.first(); }
  /// It is predefined, with a name or for a precision of Fortran.
  bool is_predefined() const noexcept { return is_predefined_; }

  /// What accumulates combine, if all parts are of one predefined type.
  const std::optional<element_kind>& kind() const noexcept { return kind_; }

  /// For puts and gets: the bytes of the type map in their order.
  const counted_layout& data() const noexcept { return data_; }
  /// For accumulates: whole elements in their order. Differs from `data` for pairs with padding.
  const counted_layout& elements() const noexcept { return elements_ ? *elements_ : data_; }
  /// The bytes of the elements of one item: a multiple of the size of an element, if `kind` is not empty.
  std::size_t element_bytes() const noexcept { return elements().bytes(); }

 private:
  type_extent bounds_;
  bool is_predefined_;
  std::optional<element_kind> kind_;
  counted_layout data_;
  std::optional<counted_layout> elements_;
  mutable std::once_flag is_encoded_;
  mutable std::vector<std::byte> encoded_;  ///< valid when `is_encoded_` is set
};

}  // namespace amity::mpi
