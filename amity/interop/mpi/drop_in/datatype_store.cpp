#include "amity/interop/mpi/drop_in/datatype_store.hpp"

#include <array>
#include <utility>

#include "amity/interop/mpi/drop_in/encoded_type.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"
#include "amity/interop/mpi/drop_in/type_map.hpp"

namespace amity::mpi {
namespace {

/// The attribute of a type.
using owner = std::shared_ptr<const datatype>;

/// A type that this thread has used, if the generation of the store has not changed since.
struct recent_type {
  std::uint64_t handle;
  std::uint64_t generation;
  const datatype* found;
};

// As many as a loop over operations may use. Zeros: no generation is 0.
thread_local constinit std::array<recent_type, 16> recent_types{};

recent_type& recent_of(MPI_Datatype type) noexcept { return recent_types[number_of(type) * 0x9e3779b97f4a7c15 >> 60]; }

void check(int result, std::string_view purpose) {
  if (result != MPI_SUCCESS)
    throw mpi_error(MPI_ERR_OTHER, fmt::format("the MPI cannot {} (its error code is {})", purpose, result),
                    "report this to amity");
}

/// Throws if the program has not committed the type.
void check_committed(MPI_Datatype type, MPI_Comm communicator) {
  // No function reports it. Both MPIs refuse such a type also if they have nothing to pack.
  std::array<char, 8> nothing{};
  int position = 0;
  if (native::pack(nothing.data(), 0, type, nothing.data(), static_cast<int>(nothing.size()), &position,
                   communicator) != MPI_SUCCESS)
    throw mpi_error(MPI_ERR_TYPE, "the data type has not been committed", "call MPI_Type_commit before");
}

}  // namespace

datatype_store::contents::contents(datatype_store& store) {
  for (std::size_t index = 0; index < predefined.size(); ++index)
    datatypes.push_back(std::make_shared<const datatype>(predefined[index], extent_of(predefined[index].handle)));
  // Other threads may call collectives on MPI_COMM_SELF at the same time. This one is distinguished by its tag.
  constexpr int tag = 0x616d;
  MPI_Group group = MPI_GROUP_NULL;
  check(native::comm_group(MPI_COMM_SELF, &group), "find the group of MPI_COMM_SELF");
  const int made = native::comm_create_group(MPI_COMM_SELF, group, tag, &communicator);
  native::group_free(&group);
  check(made, "make a communicator");
  check(native::comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "set an error handler");
  check(native::type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_attribute, &keyval, &store),
        "make a key of attributes");
}

datatype_store::contents::~contents() {
  if (keyval != MPI_KEYVAL_INVALID) native::type_free_keyval(&keyval);
  if (communicator != MPI_COMM_NULL) native::comm_free(&communicator);
}

void datatype_store::release() {
  const std::lock_guard lock(mutex_);
  delete contents_.exchange(nullptr, std::memory_order_acq_rel);
  // Keyvals of attributes that are left are not needed again.
  generation_.fetch_add(1, std::memory_order_relaxed);
}

const datatype_store::contents& datatype_store::make_contents() {
  const std::lock_guard lock(mutex_);
  const contents* all = contents_.load(std::memory_order_relaxed);
  if (all == nullptr) {
    all = new contents(*this);
    contents_.store(all, std::memory_order_release);  // pairs with the acquire in find()
  }
  return *all;
}

const datatype& datatype_store::find_attribute(const contents& all, MPI_Datatype type) {
  recent_type& recent = recent_of(type);
  // Relaxed: the program orders the end of a handle before its next use.
  const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
  if (recent.handle == number_of(type) && recent.generation == generation) return *recent.found;
  const datatype& found = make_attribute(all, type);
  recent = {.handle = number_of(type), .generation = generation, .found = &found};
  return found;
}

const datatype& datatype_store::make_attribute(const contents& all, MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL)
    throw mpi_error(MPI_ERR_TYPE, "the data type is MPI_DATATYPE_NULL", "pass a data type that has been made");
  const auto find = [&]() -> const owner* {
    void* attribute = nullptr;
    int is_there = 0;
    check_type_call(native::type_get_attr(type, all.keyval, &attribute, &is_there));
    return is_there != 0 ? static_cast<const owner*>(attribute) : nullptr;
  };
  if (const owner* const found = find()) return **found;
  const std::lock_guard lock(mutex_);
  if (const owner* const found = find()) return **found;

  const bool is_predefined = type_contents(type).is_predefined();
  if (!is_predefined) check_committed(type, all.communicator);
  auto made = std::make_unique<owner>(
      std::make_shared<const datatype>(read_type_map(type, all.predefined), extent_of(type), is_predefined));
  check(native::type_set_attr(type, all.keyval, made.get()), "keep an attribute of a data type");
  return **made.release();
}

int datatype_store::delete_attribute(MPI_Datatype, int, void* attribute, void* store) {
  static_cast<datatype_store*>(store)->generation_.fetch_add(1, std::memory_order_relaxed);
  delete static_cast<owner*>(attribute);
  return MPI_SUCCESS;
}

namespace {

// The functions of MPI have no parameter for the process that they are called in. Without a destructor, so that it
// outlives the MPI.
constinit datatype_store all_types;

}  // namespace

const datatype& datatype::of(MPI_Datatype type) { return all_types.find(type); }

bytes_view datatype::encoded(MPI_Datatype type) {
  const datatype& found = of(type);
  std::call_once(found.is_encoded_, [&] { found.encoded_ = encode_type(type, predefined()); });
  return found.encoded_;
}

const predefined_types& datatype::predefined() { return all_types.predefined(); }

void datatype::release_all() { all_types.release(); }

}  // namespace amity::mpi
