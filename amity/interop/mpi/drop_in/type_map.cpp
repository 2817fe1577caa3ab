#include "amity/interop/mpi/drop_in/type_map.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/type_arguments.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"

namespace amity::mpi {
namespace {

std::size_t to_size(MPI_Count number) { return static_cast<std::size_t>(std::max<MPI_Count>(number, 0)); }
std::ptrdiff_t to_distance(MPI_Count number) { return static_cast<std::ptrdiff_t>(number); }

/// A type that another type has as a part, and how far apart neighbours are.
struct part {
  layout data;
  std::ptrdiff_t extent;

  layout times(MPI_Count count) const { return data.repeated(to_size(count), extent); }
};

/// Layouts one after the other.
class sequence {
 public:
  void add(const layout& next, std::ptrdiff_t at) {
    if (next.bytes() == 0) return;
    if (is_empty_) {
      // A single one stays as compact as it is.
      first_ = next.moved(at);
      is_empty_ = false;
      return;
    }
    if (blocks_.empty()) append(first_, 0);
    append(next, at);
  }

  layout all() const { return blocks_.empty() ? first_ : layout::indexed(blocks_); }

 private:
  void append(const layout& next, std::ptrdiff_t at) {
    next.for_each(0, next.bytes(), [&](std::ptrdiff_t offset, std::size_t bytes) {
      blocks_.push_back({at + offset, bytes});
    });
  }

  bool is_empty_ = true;
  layout first_;
  std::vector<layout::block> blocks_;  ///< empty if there is one layout, or none
};

/// One dimension of an array that MPI_Type_create_darray distributes.
struct distributed_dimension {
  MPI_Count size;
  MPI_Count distribution;
  MPI_Count argument;
  MPI_Count processes;
  MPI_Count coordinate;

  /// The elements of this process, if `each` is one of the whole dimension.
  layout share(const part& each) const {
    if (distribution == MPI_DISTRIBUTE_NONE) return each.times(size);
    if (distribution == MPI_DISTRIBUTE_BLOCK) {
      const MPI_Count block = argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
      return run(each, coordinate * block, block);
    }
    const MPI_Count block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    const MPI_Count cycle = block * processes;
    const MPI_Count begin = coordinate * block;
    const MPI_Count whole_blocks = size / cycle;  // at least; the last one may be whole, too
    sequence all;
    all.add(each.times(block).repeated(to_size(whole_blocks), to_distance(cycle) * each.extent),
            to_distance(begin) * each.extent);
    all.add(run(each, begin + whole_blocks * cycle, block), 0);
    return all.all();
  }

 private:
  /// At most `length` elements from `begin` on, as far as the dimension reaches.
  layout run(const part& each, MPI_Count begin, MPI_Count length) const {
    return each.times(std::min(length, size - begin)).moved(to_distance(begin) * each.extent);
  }
};

class map_reader {
 public:
  map_reader(const predefined_types& predefined, bool with_padding)
      : predefined_(predefined), with_padding_(with_padding) {}

  layout read(MPI_Datatype type) {
    if (const predefined_type* const known = predefined_.find(type)) {
      note(known->kind);
      const bool is_padded = with_padding_ && known->kind && known->kind->category == type_category::pair;
      return is_padded ? layout::contiguous(layout_of(known->kind->type).bytes) : known->data;
    }
    const type_contents contents(type);
    if (!contents.is_predefined()) return combined(contents);
    const std::size_t bytes = size_of(type);
    if (contents.is_f90()) {
      note(kind_of_f90_type(contents.combiner(), contents.numbers().front(), bytes));
    } else if (bytes > 0) {  // not one of the bounds of old programs
      note(std::nullopt);
    }
    return layout::contiguous(bytes);
  }

  /// The kind of all parts that have been read.
  std::optional<element_kind> kind() const { return is_mixed_ ? std::nullopt : kind_; }

 private:
  void note(const std::optional<element_kind>& next) {
    if (!next || (kind_ && kind_ != next)) is_mixed_ = true;
    kind_ = next;
  }

  part read_part(MPI_Datatype type) { return {.data = read(type), .extent = extent_of(type).extent}; }

  layout combined(const type_contents& made) {
    type_arguments arguments(made.numbers());
    switch (made.combiner()) {
      case MPI_COMBINER_STRUCT:
        return structure(made, arguments);
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        return read(made.types().front());
      default:
        return array(made.combiner(), read_part(made.types().front()), arguments);
    }
  }

  layout structure(const type_contents& made, type_arguments& arguments) {
    const MPI_Count count = arguments.next();
    const auto lengths = arguments.list(count), displacements = arguments.list(count);
    sequence all;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      all.add(read_part(made.types()[i]).times(lengths[i]), to_distance(displacements[i]));
    return all.all();
  }

  static layout array(int combiner, const part& each, type_arguments& arguments) {
    switch (combiner) {
      case MPI_COMBINER_CONTIGUOUS:
        return each.times(arguments.next());
      case MPI_COMBINER_VECTOR:
        return vector(each, each.extent, arguments);
      case MPI_COMBINER_HVECTOR:
        return vector(each, 1, arguments);
      case MPI_COMBINER_INDEXED:
        return indexed(each, each.extent, arguments);
      case MPI_COMBINER_HINDEXED:
        return indexed(each, 1, arguments);
      case MPI_COMBINER_INDEXED_BLOCK:
        return indexed_block(each, each.extent, arguments);
      case MPI_COMBINER_HINDEXED_BLOCK:
        return indexed_block(each, 1, arguments);
      case MPI_COMBINER_SUBARRAY:
        return subarray(each, arguments);
      case MPI_COMBINER_DARRAY:
        return darray(each, arguments);
      default:
        refuse_combiner(combiner);
    }
  }

  // `unit` is the number of bytes in which the displacements are given.

  static layout vector(const part& each, std::ptrdiff_t unit, type_arguments& arguments) {
    const MPI_Count count = arguments.next(), length = arguments.next(), stride = arguments.next();
    return each.times(length).repeated(to_size(count), to_distance(stride) * unit);
  }

  static layout indexed(const part& each, std::ptrdiff_t unit, type_arguments& arguments) {
    const MPI_Count count = arguments.next();
    const auto lengths = arguments.list(count), displacements = arguments.list(count);
    sequence all;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      all.add(each.times(lengths[i]), to_distance(displacements[i]) * unit);
    return all.all();
  }

  static layout indexed_block(const part& each, std::ptrdiff_t unit, type_arguments& arguments) {
    const MPI_Count count = arguments.next();
    const layout block = each.times(arguments.next());
    sequence all;
    for (const MPI_Count displacement : arguments.list(count)) all.add(block, to_distance(displacement) * unit);
    return all.all();
  }

  // Arrays grow by one dimension after the other, from that whose elements are neighbours. `part` then is a row, a
  // plane and so on of the part that is selected; its extent is that of the whole row.

  /// The dimensions, beginning with that whose elements are neighbours.
  static std::vector<std::size_t> from_inner_to_outer(MPI_Count dimensions, MPI_Count order) {
    std::vector<std::size_t> all(to_size(dimensions));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = order == MPI_ORDER_FORTRAN ? i : all.size() - 1 - i;
    return all;
  }

  static layout subarray(part each, type_arguments& arguments) {
    const MPI_Count dimensions = arguments.next();
    const auto sizes = arguments.list(dimensions), selected = arguments.list(dimensions),
               starts = arguments.list(dimensions);
    std::ptrdiff_t begin = 0;
    for (const std::size_t dimension : from_inner_to_outer(dimensions, arguments.next())) {
      begin += to_distance(starts[dimension]) * each.extent;
      each = {.data = each.times(selected[dimension]), .extent = to_distance(sizes[dimension]) * each.extent};
    }
    return each.data.moved(begin);
  }

  static layout darray(part each, type_arguments& arguments) {
    MPI_Count processes = arguments.next(), rank = arguments.next();
    const MPI_Count dimensions = arguments.next();
    const auto sizes = arguments.list(dimensions), distributions = arguments.list(dimensions),
               distribution_arguments = arguments.list(dimensions), processes_of = arguments.list(dimensions);
    std::vector<MPI_Count> coordinates;  // of the rank, in the grid of processes
    for (const MPI_Count length : processes_of) {
      processes /= length;
      coordinates.push_back(rank / processes);
      rank %= processes;
    }
    for (const std::size_t dimension : from_inner_to_outer(dimensions, arguments.next())) {
      const distributed_dimension distributed{.size = sizes[dimension],
                                              .distribution = distributions[dimension],
                                              .argument = distribution_arguments[dimension],
                                              .processes = processes_of[dimension],
                                              .coordinate = coordinates[dimension]};
      each = {.data = distributed.share(each), .extent = to_distance(sizes[dimension]) * each.extent};
    }
    return each.data;
  }

  const predefined_types& predefined_;
  const bool with_padding_;
  std::optional<element_kind> kind_;  ///< of the part that has been read last
  bool is_mixed_ = false;
};

}  // namespace

type_map read_type_map(MPI_Datatype type, const predefined_types& predefined) {
  map_reader reader(predefined, false);
  layout data = reader.read(type);
  if (const std::size_t bytes = size_of(type); data.bytes() != bytes) {
    throw mpi_error(MPI_ERR_INTERN,
                    fmt::format("a data type of {} bytes has {} bytes by its contents", bytes, data.bytes()),
                    "report this to amity, with the calls that make the data type");
  }
  type_map map{.data = data, .elements = std::move(data), .kind = reader.kind()};
  if (map.kind && map.kind->category == type_category::pair) map.elements = map_reader(predefined, true).read(type);
  return map;
}

}  // namespace amity::mpi
