#include "tests/interop/mpi/type_trees.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace amity::mpi::testing {
namespace {

using places = std::vector<std::ptrdiff_t>;

places run(std::ptrdiff_t at, std::size_t bytes) {
  places all(bytes);
  std::iota(all.begin(), all.end(), at);
  return all;
}

/// All indices of an array in the order of its elements, each with the index of the element.
void for_each_index(const std::vector<int>& sizes, int order,
                    const std::function<void(const std::vector<int>&, std::ptrdiff_t)>& visit) {
  std::ptrdiff_t elements = 1;
  for (const int size : sizes) elements *= size;
  std::vector<int> index(sizes.size());
  for (std::ptrdiff_t element = 0; element < elements; ++element) {
    std::ptrdiff_t rest = element;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t dimension = order == MPI_ORDER_FORTRAN ? i : sizes.size() - 1 - i;
      index[dimension] = static_cast<int>(rest % sizes[dimension]);
      rest /= sizes[dimension];
    }
    visit(index, element);
  }
}

const char* name_of_order(int order) { return order == MPI_ORDER_C ? "C" : "Fortran"; }

}  // namespace

described_type::~described_type() {
  if (type_ == MPI_DATATYPE_NULL) return;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Type_get_envelope(type_, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX &&
      combiner != MPI_COMBINER_F90_INTEGER)
    MPI_Type_free(&type_);
}

MPI_Aint described_type::extent() const {
  MPI_Aint lower_bound = 0, extent = 0;
  MPI_Type_get_extent(type_, &lower_bound, &extent);
  return extent;
}

void add_places(places& all, const places& item, std::ptrdiff_t at, std::ptrdiff_t count, std::ptrdiff_t stride) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    for (const std::ptrdiff_t each : item) all.push_back(each + at + i * stride);
  }
}

described_type type_trees::next(int depth) {
  described_type made = combined(depth);
  made.commit();
  return made;
}

type_trees::blocks type_trees::random_blocks(int count, MPI_Aint extent, MPI_Aint unit) {
  blocks all;
  MPI_Aint end = 0;  // of the last block, in bytes
  for (int i = 0; i < count; ++i) {
    all.lengths.push_back(length());
    if (is_ascending_) {
      all.begins.push_back((end + unit - 1) / unit + below(3));
      end = all.begins.back() * unit + all.lengths.back() * extent;
    } else {
      all.begins.push_back(unit == 1 ? below(600) - 300 : below(12) - 4);
    }
  }
  return all;
}

described_type type_trees::part(int depth) { return depth > 0 && below(4) != 0 ? combined(depth) : leaf(); }

// Without numbers that have padding inside: MPICH does not copy that.
described_type type_trees::leaf() {
  const std::array<std::pair<MPI_Datatype, const char*>, 9> all{{{MPI_CHAR, "MPI_CHAR"},
                                                                 {MPI_BYTE, "MPI_BYTE"},
                                                                 {MPI_SHORT, "MPI_SHORT"},
                                                                 {MPI_INT, "MPI_INT"},
                                                                 {MPI_DOUBLE, "MPI_DOUBLE"},
                                                                 {MPI_C_BOOL, "MPI_C_BOOL"},
                                                                 {MPI_LOGICAL, "MPI_LOGICAL"},
                                                                 {MPI_COMPLEX, "MPI_COMPLEX"},
                                                                 {MPI_2INT, "MPI_2INT"}}};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (below(20)) {
    case 0:
      MPI_Type_create_f90_integer(9, &made);
      return {made, "f90_integer(9)", run(0, 4)};
    case 1:
      MPI_Type_create_f90_real(15, 307, &made);
      return {made, "f90_real(15)", run(0, 8)};
    case 2:
      MPI_Type_create_f90_complex(6, 30, &made);
      return {made, "f90_complex(6)", run(0, 8)};
    case 3: {
      places both = run(0, 2);
      add_places(both, run(4, 4), 0, 1, 0);
      return {MPI_SHORT_INT, "MPI_SHORT_INT", both};
    }
    case 4:
      return {MPI_DOUBLE_INT, "MPI_DOUBLE_INT", run(0, 12)};
    case 5:
      return {MPI_LONG_INT, "MPI_LONG_INT", run(0, 12)};
    default:
      break;
  }
  const auto& [type, name] = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  return {type, name, run(0, static_cast<std::size_t>(bytes))};
}

described_type type_trees::combined(int depth) {
  const int function = below(13);
  if (function == 0) return structure(depth);
  const described_type of = part(depth - 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  switch (function) {
    case 1: {
      const int count = length();
      MPI_Type_contiguous(count, of.get(), &made);
      places all;
      add_places(all, of.places(), 0, count, of.extent());
      return {made, fmt::format("contiguous({}, {})", of.text(), count), all};
    }
    case 2:
      return vector(of);
    case 3:
      return hvector(of);
    case 4:
      return indexed(of);
    case 5:
      return hindexed(of);
    case 6:
      return indexed_block(of);
    case 7:
      return hindexed_block(of);
    case 8:
      return resized(of);
    case 9:
    case 10:
      return subarray(of);
    case 11:
      return darray(of);
    default:
      MPI_Type_dup(of.get(), &made);
      return {made, fmt::format("dup({})", of.text()), of.places()};
  }
}

described_type type_trees::vector(const described_type& of) {
  const int count = length(), block = length();
  const int stride = is_ascending_ ? block + below(3) : below(12) - 4;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, block, stride, of.get(), &made);
  places all;
  for (int i = 0; i < count; ++i) add_places(all, of.places(), i * stride * of.extent(), block, of.extent());
  return {made, fmt::format("vector({}, {}, {}, {})", of.text(), count, block, stride), all};
}

described_type type_trees::hvector(const described_type& of) {
  const int count = length(), block = length();
  const MPI_Aint stride = is_ascending_ ? block * of.extent() + below(20) : below(200) - 80;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(count, block, stride, of.get(), &made);
  places all;
  for (int i = 0; i < count; ++i) add_places(all, of.places(), i * stride, block, of.extent());
  return {made, fmt::format("hvector({}, {}, {}, {})", of.text(), count, block, stride), all};
}

described_type type_trees::indexed(const described_type& of) {
  const int count = length();
  const auto [lengths, begins] = random_blocks(count, of.extent(), std::max<MPI_Aint>(of.extent(), 2));
  const std::vector<int> displacements(begins.begin(), begins.end());
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_indexed(count, lengths.data(), displacements.data(), of.get(), &made);
  places all;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    add_places(all, of.places(), begins[i] * of.extent(), lengths[i], of.extent());
  return {made, fmt::format("indexed({}, {}, {})", of.text(), lengths, begins), all};
}

described_type type_trees::hindexed(const described_type& of) {
  const int count = length();
  const auto [lengths, begins] = random_blocks(count, of.extent(), 1);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(count, lengths.data(), begins.data(), of.get(), &made);
  places all;
  for (std::size_t i = 0; i < lengths.size(); ++i) add_places(all, of.places(), begins[i], lengths[i], of.extent());
  return {made, fmt::format("hindexed({}, {}, {})", of.text(), lengths, begins), all};
}

described_type type_trees::indexed_block(const described_type& of) {
  const int count = length();
  const auto [lengths, begins] = random_blocks(count, 3 * of.extent(), std::max<MPI_Aint>(of.extent(), 2));
  const std::vector<int> displacements(begins.begin(), begins.end());
  const int block = length();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(count, block, displacements.data(), of.get(), &made);
  places all;
  for (const MPI_Aint begin : begins) add_places(all, of.places(), begin * of.extent(), block, of.extent());
  return {made, fmt::format("indexed_block({}, {}, {})", of.text(), block, begins), all};
}

described_type type_trees::hindexed_block(const described_type& of) {
  const int count = length();
  const auto [lengths, begins] = random_blocks(count, 3 * of.extent(), 1);
  const int block = length();
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed_block(count, block, begins.data(), of.get(), &made);
  places all;
  for (const MPI_Aint begin : begins) add_places(all, of.places(), begin, block, of.extent());
  return {made, fmt::format("hindexed_block({}, {}, {})", of.text(), block, begins), all};
}

described_type type_trees::resized(const described_type& of) {
  MPI_Aint lower_bound = below(100) - 50, extent = below(300) - 20;
  if (is_ascending_) {
    const std::ptrdiff_t span = *std::ranges::max_element(of.places()) + 1;
    lower_bound = -below(20);
    extent = span + below(20);
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(of.get(), lower_bound, extent, &made);
  return {made, fmt::format("resized({}, {}, {})", of.text(), lower_bound, extent), of.places()};
}

described_type type_trees::structure(int depth) {
  const int count = 1 + below(3);
  std::vector<described_type> parts;
  std::vector<MPI_Datatype> types;
  std::vector<std::string> texts;
  std::vector<int> lengths;
  std::vector<MPI_Aint> begins;
  places all;
  for (int i = 0; i < count; ++i) {
    const described_type& next = parts.emplace_back(part(depth - 1));
    types.push_back(next.get());
    texts.push_back(next.text());
    lengths.push_back(length());
    begins.push_back(is_ascending_ ? (all.empty() ? 0 : *std::ranges::max_element(all) + 1) + below(20)
                                   : below(600) - 300);
    add_places(all, next.places(), begins.back(), lengths.back(), next.extent());
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(count, lengths.data(), begins.data(), types.data(), &made);
  return {made, fmt::format("struct({}, {}, {})", fmt::join(texts, ", "), lengths, begins), all};
}

described_type type_trees::subarray(const described_type& of) {
  const int dimensions = 1 + below(3);
  std::vector<int> sizes, selected, starts;
  for (int i = 0; i < dimensions; ++i) {
    sizes.push_back(1 + below(5));
    selected.push_back(1 + below(sizes.back()));
    starts.push_back(below(sizes.back() - selected.back() + 1));
  }
  const int order = below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(dimensions, sizes.data(), selected.data(), starts.data(), order, of.get(), &made);
  places all;
  for_each_index(sizes, order, [&](const std::vector<int>& index, std::ptrdiff_t element) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < starts[i] || index[i] >= starts[i] + selected[i]) return;
    }
    add_places(all, of.places(), element * of.extent(), 1, 0);
  });
  return {made, fmt::format("subarray({}, {}, {}, {}, {})", of.text(), sizes, selected, starts, name_of_order(order)),
          all};
}

described_type type_trees::darray(const described_type& of) {
  const int dimensions = 1 + below(3);
  std::vector<int> sizes, distributions, arguments, processes, block_sizes;
  int all_processes = 1;
  for (int i = 0; i < dimensions; ++i) {
    sizes.push_back(1 + below(7));
    processes.push_back(1 + below(is_ascending_ ? std::min(3, sizes.back()) : 3));
    arguments.push_back(MPI_DISTRIBUTE_DFLT_DARG);
    switch (below(3)) {
      case 0:
        distributions.push_back(MPI_DISTRIBUTE_BLOCK);
        block_sizes.push_back((sizes.back() + processes.back() - 1) / processes.back());
        if (!is_ascending_ && below(2) == 0) arguments.back() = block_sizes.back() += below(2);
        break;
      case 1:
        distributions.push_back(MPI_DISTRIBUTE_CYCLIC);
        block_sizes.push_back(1);
        if (!is_ascending_ && below(3) != 0) arguments.back() = block_sizes.back() = 1 + below(3);
        break;
      default:
        distributions.push_back(MPI_DISTRIBUTE_NONE);
        processes.back() = 1;
        block_sizes.push_back(sizes.back());
    }
    all_processes *= processes.back();
  }
  const int rank = below(all_processes);
  std::vector<int> coordinates(processes.size());
  for (int rest = rank, i = dimensions - 1; i >= 0; --i) {
    coordinates[static_cast<std::size_t>(i)] = rest % processes[static_cast<std::size_t>(i)];
    rest /= processes[static_cast<std::size_t>(i)];
  }
  const int order = below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(all_processes, rank, dimensions, sizes.data(), distributions.data(), arguments.data(),
                         processes.data(), order, of.get(), &made);
  places all;
  for_each_index(sizes, order, [&](const std::vector<int>& index, std::ptrdiff_t element) {
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] / block_sizes[i] % processes[i] != coordinates[i]) return;
    }
    add_places(all, of.places(), element * of.extent(), 1, 0);
  });
  return {made,
          fmt::format("darray({}, {}, {}, {}, {}, {}, {}, {})", of.text(), all_processes, rank, sizes, distributions,
                      arguments, processes, name_of_order(order)),
          all};
}

}  // namespace amity::mpi::testing
