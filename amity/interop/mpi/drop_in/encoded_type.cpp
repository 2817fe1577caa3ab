#include "amity/interop/mpi/drop_in/encoded_type.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"
#include "amity/interop/mpi/drop_in/type_maker.hpp"

namespace amity::mpi {
namespace {

/// How many types follow.
using type_count = std::uint32_t;
/// A type that precedes, from 0.
using type_index = std::uint32_t;
using number = std::int64_t;

/// Precedes the numbers and the parts of a type.
struct type_head {
  std::int32_t combiner;
  type_count parts;
  std::uint64_t numbers;
};
static_assert(sizeof(type_head) == 16 && std::is_trivially_copyable_v<type_head>);
static_assert(std::is_same_v<std::make_signed_t<MPI_Count>, MPI_Count> && sizeof(MPI_Count) == sizeof(number));

template <class T>
void append(std::string& to, std::span<const T> values) {
  to.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

class type_encoder {
 public:
  explicit type_encoder(const predefined_types& predefined) : predefined_(predefined) {}

  type_index add(MPI_Datatype type, int levels_left) {
    if (const std::size_t index = predefined_.index_of(type); index < predefined_.size())
      return add(MPI_COMBINER_NAMED, std::vector{static_cast<MPI_Count>(index)}, {});
    if (levels_left == 0)
      throw mpi_error(MPI_ERR_TYPE, fmt::format("the data type has more than {} levels", encoded_levels_max),
                      "make it of fewer types of types");
    const type_contents made(type);
    if (made.is_named())
      throw mpi_error(MPI_ERR_TYPE, "the data type contains MPI_LB, MPI_UB, or an unknown predefined type",
                      "call MPI_Type_create_resized instead, or use predefined types of MPI-4.0 or older");
    if (!can_make_type(made.combiner())) refuse_combiner(made.combiner());
    std::vector<type_index> parts;
    for (const MPI_Datatype each : made.types()) parts.push_back(add(each, levels_left - 1));
    return add(made.combiner(), made.numbers(), parts);
  }

  std::vector<std::byte> all() const {
    const auto count = static_cast<type_count>(index_by_type_.size());
    std::vector<std::byte> bytes(sizeof count + all_.size());
    std::memcpy(bytes.data(), &count, sizeof count);
    std::memcpy(bytes.data() + sizeof count, all_.data(), all_.size());
    return bytes;
  }

 private:
  type_index add(int combiner, const std::vector<MPI_Count>& numbers, const std::vector<type_index>& parts) {
    const type_head head{
        .combiner = combiner, .parts = static_cast<type_count>(parts.size()), .numbers = numbers.size()};
    std::string bytes;
    append(bytes, std::span(&head, 1));
    append(bytes, std::span(numbers));
    append(bytes, std::span(parts));
    const auto [found, is_new] = index_by_type_.try_emplace(bytes, static_cast<type_index>(index_by_type_.size()));
    if (is_new) all_ += bytes;
    return found->second;
  }

  const predefined_types& predefined_;
  std::unordered_map<std::string, type_index> index_by_type_;
  std::string all_;
};

[[noreturn]] void refuse(std::string_view problem) {
  throw mpi_error(MPI_ERR_INTERN, fmt::format("invalid description of a data type: {}", problem),
                  "report this to amity");
}

class type_decoder {
 public:
  type_decoder(bytes_view encoded, const predefined_types& predefined) : rest_(encoded), predefined_(predefined) {}

  made_type last() {
    const auto count = take<type_count>(1).front();
    for (type_index i = 0; i < count; ++i) add_next();
    if (!rest_.empty()) refuse(fmt::format("{} bytes after {} types", rest_.size(), count));
    if (all_.empty()) refuse("no type");
    all_.back().made.commit();
    return std::move(all_.back().made);
  }

 private:
  struct decoded {
    made_type made;
    int levels;
  };

  template <class T>
  std::vector<T> take(std::uint64_t count) {
    if (count > rest_.size() / sizeof(T))
      refuse(fmt::format("{} items of {} bytes in the last {} bytes", count, sizeof(T), rest_.size()));
    std::vector<T> taken(count);
    const bytes_view from = rest_.first(count * sizeof(T));
    if (!from.empty()) std::memcpy(taken.data(), from.data(), from.size());
    rest_ = rest_.subspan(from.size());
    return taken;
  }

  void add_next() {
    const auto head = take<type_head>(1).front();
    const auto numbers = take<MPI_Count>(head.numbers);
    const auto parts = take<type_index>(head.parts);
    if (head.combiner == MPI_COMBINER_NAMED) {
      all_.push_back({named(numbers, parts), 0});
      return;
    }
    int levels = 0;
    std::vector<MPI_Datatype> handles;
    for (const type_index each : parts) {
      if (each >= all_.size()) refuse(fmt::format("type {} of the {} that precede", each, all_.size()));
      handles.push_back(all_[each].made.get());
      levels = std::max(levels, all_[each].levels);
    }
    if (levels == encoded_levels_max) refuse(fmt::format("more than {} levels", encoded_levels_max));
    all_.push_back({make_type(head.combiner, numbers, handles), levels + 1});
  }

  made_type named(const std::vector<MPI_Count>& numbers, const std::vector<type_index>& parts) const {
    if (numbers.size() != 1 || !parts.empty()) refuse("a predefined type with parts");
    if (numbers.front() < 0 || std::cmp_greater_equal(numbers.front(), predefined_.size()))
      refuse(fmt::format("predefined type {} of {}", numbers.front(), predefined_.size()));
    return {predefined_[static_cast<std::size_t>(numbers.front())].handle, made_type::lifetime::predefined};
  }

  bytes_view rest_;
  const predefined_types& predefined_;
  std::vector<decoded> all_;
};

}  // namespace

std::vector<std::byte> encode_type(MPI_Datatype type, const predefined_types& predefined) {
  type_encoder encoder(predefined);
  encoder.add(type, encoded_levels_max);
  return encoder.all();
}

made_type decode_type(bytes_view encoded, const predefined_types& predefined) {
  return type_decoder(encoded, predefined).last();
}

}  // namespace amity::mpi
