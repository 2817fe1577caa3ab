// Each function of MPI::Win, by the C++ bindings of MPI-2, which Open MPI 4 and MPICH 4.0 still have.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

constexpr int words = 1024;
constexpr MPI::Aint bytes = words * sizeof(long);

/// A window of `words` words on each process, all 0, on memory of MPI::Alloc_mem.
class window {
 public:
  window() : memory_(static_cast<long*>(MPI::Alloc_mem(bytes, MPI::INFO_NULL))) {
    std::fill_n(memory_, words, 0);
    win_ = MPI::Win::Create(memory_, bytes, sizeof(long), MPI::INFO_NULL, MPI::COMM_WORLD);
  }
  ~window() {
    win_.Free();
    MPI::Free_mem(memory_);
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  MPI::Win& win() { return win_; }
  long* memory() { return memory_; }
  long locked_word(int index) {
    win_.Lock(MPI::LOCK_SHARED, rank(), 0);
    const long word = memory_[index];
    win_.Unlock(rank());
    return word;
  }

 private:
  long* memory_;
  MPI::Win win_;
};

void fences() {
  step = "fences";
  window all;
  const std::array<long, 3> numbers{rank() + 1, -1, rank() + 2};
  std::array<long, 2> found{};
  MPI::Datatype every_second = MPI::LONG.Create_vector(2, 1, 2);
  every_second.Commit();
  all.win().Fence(MPI::MODE_NOPRECEDE);
  all.win().Put(numbers.data(), 1, every_second, next(), 4, 2, MPI::LONG);
  all.win().Fence(0);
  all.win().Get(found.data(), 2, MPI::LONG, next(), 4, 2, MPI::LONG);
  all.win().Fence(0);
  CHECK(found[0] == numbers[0] && found[1] == numbers[2]);
  all.win().Accumulate(numbers.data(), 1, MPI::LONG, next(), 4, 1, MPI::LONG, MPI::SUM);
  all.win().Fence(MPI::MODE_NOSUCCEED);
  CHECK(all.memory()[4] == 2 * (previous() + 1) && all.memory()[5] == previous() + 2);
  every_second.Free();
}

void posts() {
  step = "posts";
  window all;
  const std::array<int, 1> before{previous()}, after{next()};
  MPI::Group world = MPI::COMM_WORLD.Get_group();
  MPI::Group origins = world.Incl(1, before.data()), targets = world.Incl(1, after.data());
  for (long turn = 1; turn <= 2; ++turn) {
    all.win().Post(origins, 0);
    all.win().Start(targets, 0);
    all.win().Put(&turn, 1, MPI::LONG, next(), 7, 1, MPI::LONG);
    all.win().Complete();
    if (turn == 1) {
      all.win().Wait();
    } else {
      while (!all.win().Test()) {
      }
    }
    CHECK(all.memory()[7] == turn);
  }
  world.Free();
  origins.Free();
  targets.Free();
}

int copied = 0, deleted = 0;

int copy_attribute(const MPI::Win&, int, void*, void* value, void* copy, bool& is_copied) {
  ++copied;
  *static_cast<void**>(copy) = value;
  is_copied = true;
  return MPI::SUCCESS;
}
int delete_attribute(MPI::Win&, int, void*, void*) {
  ++deleted;
  return MPI::SUCCESS;
}

void attributes() {
  step = "attributes";
  int key = MPI::Win::Create_keyval(copy_attribute, delete_attribute, nullptr);
  {
    window all;
    void* found = nullptr;
    CHECK(all.win().Get_attr(MPI::WIN_BASE, &found) && found == all.memory());
    CHECK(all.win().Get_attr(MPI::WIN_SIZE, &found) && *static_cast<MPI::Aint*>(found) == bytes);
    CHECK(all.win().Get_attr(MPI::WIN_DISP_UNIT, &found) && *static_cast<int*>(found) == sizeof(long));
    CHECK(!all.win().Get_attr(key, &found));
    all.win().Set_attr(key, &key);
    CHECK(all.win().Get_attr(key, &found) && found == &key);

    MPI::Group group = all.win().Get_group(), world = MPI::COMM_WORLD.Get_group();
    CHECK(MPI::Group::Compare(group, world) == MPI::IDENT);
    group.Free();
    world.Free();
    std::array<char, MPI_MAX_OBJECT_NAME> name{};
    int length = 0;
    all.win().Set_name("of C++");
    all.win().Get_name(name.data(), length);
    CHECK(std::string(name.data(), static_cast<std::size_t>(length)) == "of C++");
  }
  CHECK(deleted == 1 && copied == 0);
  MPI::Win::Free_keyval(key);
}

int handled = 0, handled_class = 0;

void handle_error(MPI::Win&, int* code, ...) {
  ++handled;
  handled_class = MPI::Get_error_class(*code);
}

/// The error class with which a call ends, if it does by an exception.
template <class Call>
int thrown_class(Call call) {
#if defined(OPEN_MPI) && !OMPI_HAVE_CXX_EXCEPTION_SUPPORT
  MPI::mpi_errno = MPI::SUCCESS;
  call();
  return MPI::Get_error_class(MPI::mpi_errno);
#else
  try {
    call();
  } catch (MPI::Exception& raised) {
    return raised.Get_error_class();
  }
  return MPI::SUCCESS;
#endif
}

void errors() {
  step = "errors";
  window all;
  const long one = 1;
  const auto lock_stranger = [&] { all.win().Lock(MPI::LOCK_SHARED, size(), 0); };
  const auto put_outside = [&] { all.win().Put(&one, 1, MPI::LONG, size(), 0, 1, MPI::LONG); };

  all.win().Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  CHECK(thrown_class(lock_stranger) == MPI::ERR_RANK);
  all.win().Lock(MPI::LOCK_SHARED, next(), 0);
  CHECK(thrown_class(put_outside) == MPI::ERR_RANK);
  all.win().Put(&one, 1, MPI::LONG, next(), 9, 1, MPI::LONG);
  all.win().Unlock(next());
  MPI::COMM_WORLD.Barrier();
  CHECK(all.locked_word(9) == 1);

  MPI::Errhandler handler = MPI::Win::Create_errhandler(handle_error);
  all.win().Set_errhandler(handler);
  lock_stranger();
  CHECK(handled == 1 && handled_class == MPI::ERR_RANK);
  all.win().Call_errhandler(MPI::ERR_OTHER);
  CHECK(handled == 2 && handled_class == MPI::ERR_OTHER);
  handler.Free();
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  program::watch(60);
  fences();
  posts();
  attributes();
  errors();
  MPI::Finalize();
}
