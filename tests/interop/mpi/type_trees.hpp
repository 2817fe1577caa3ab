#pragma once

/// Data types that functions of MPI make of one another, at random, with the places of their bytes.

#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

namespace amity::mpi::testing {

/// A data type, which is freed at the end unless it is predefined.
class described_type {
 public:
  described_type(MPI_Datatype type, std::string text, std::vector<std::ptrdiff_t> places)
      : type_(type), text_(std::move(text)), places_(std::move(places)) {}
  described_type(described_type&& other) noexcept
      : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)),
        text_(std::move(other.text_)),
        places_(std::move(other.places_)) {}
  ~described_type();

  MPI_Datatype get() const { return type_; }
  void commit() { MPI_Type_commit(&type_); }
  MPI_Aint extent() const;
  /// How it was made: "vector(resized(MPI_INT, -4, 16), 2, 3, -4)".
  const std::string& text() const { return text_; }
  /// Offsets of the bytes of the data, in the order of the type map. They do not come from the MPI.
  const std::vector<std::ptrdiff_t>& places() const { return places_; }

 private:
  MPI_Datatype type_;
  std::string text_;
  std::vector<std::ptrdiff_t> places_;
};

/// Adds places of `count` items that are `stride` bytes apart, from `at` on.
void add_places(std::vector<std::ptrdiff_t>& all, const std::vector<std::ptrdiff_t>& item, std::ptrdiff_t at,
                std::ptrdiff_t count, std::ptrdiff_t stride);

/// Which types are made. Both MPIs pack some types of the first kind wrongly.
enum class variety {
  all,
  ascending,  ///< data does not overlap, and lies in the order of addresses; nothing is empty
};

/// Makes types by each function of MPI that makes types of others.
class type_trees {
 public:
  type_trees(unsigned seed, variety of) : random_(seed), is_ascending_(of == variety::ascending) {}

  /// A committed type of types of types, at most `depth` times.
  described_type next(int depth);

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  int length() { return is_ascending_ ? 1 + below(3) : below(4); }

  /// Blocks of items: lengths, and where they begin, in units of `unit` bytes.
  struct blocks {
    std::vector<int> lengths;
    std::vector<MPI_Aint> begins;
  };
  blocks random_blocks(int count, MPI_Aint extent, MPI_Aint unit);

  described_type part(int depth);
  described_type leaf();
  described_type combined(int depth);
  described_type vector(const described_type& of);
  described_type hvector(const described_type& of);
  described_type indexed(const described_type& of);
  described_type hindexed(const described_type& of);
  described_type indexed_block(const described_type& of);
  described_type hindexed_block(const described_type& of);
  described_type resized(const described_type& of);
  described_type structure(int depth);
  described_type subarray(const described_type& of);
  described_type darray(const described_type& of);

  std::mt19937 random_;
  bool is_ascending_;
};

}  // namespace amity::mpi::testing
