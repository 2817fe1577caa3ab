// Windows by the C++ bindings of MPI-2, which Open MPI 4 and MPICH 4.0 still have: MPI::Win.

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

constexpr int words = 1024;
constexpr MPI::Aint bytes = words * sizeof(long);

enum class memory_kind { own, allocated };

/// A window of `words` words on each process, all 0, on an array or on memory of MPI::Alloc_mem.
class window {
 public:
  explicit window(memory_kind kind)
      : allocated_(kind == memory_kind::allocated ? static_cast<long*>(MPI::Alloc_mem(bytes, MPI::INFO_NULL))
                                                  : nullptr),
        memory_(allocated_ == nullptr ? own_.data() : allocated_) {
    std::fill_n(memory_, words, 0);
    win_ = MPI::Win::Create(memory_, bytes, sizeof(long), MPI::INFO_NULL, MPI::COMM_WORLD);
  }
  ~window() {
    win_.Free();
    if (allocated_ != nullptr) MPI::Free_mem(allocated_);
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  MPI::Win& win() { return win_; }
  long* memory() { return memory_; }

 private:
  std::array<long, words> own_{};
  long* allocated_;
  long* memory_;
  MPI::Win win_;
};

void fences(memory_kind kind) {
  step = "fences";
  window all(kind);
  std::array<long, words> numbers{}, found{};
  std::iota(numbers.begin(), numbers.end(), 100 * rank());
  all.win().Fence(MPI::MODE_NOPRECEDE);
  all.win().Put(numbers.data(), words, MPI::LONG, next(), 0, words, MPI::LONG);
  all.win().Fence(0);
  for (int i = 0; i < words; ++i) CHECK(all.memory()[i] == 100 * previous() + i);
  all.win().Get(found.data(), words, MPI::LONG, next(), 0, words, MPI::LONG);
  all.win().Fence(0);
  CHECK(found == numbers);
  MPI::Datatype every_second = MPI::LONG.Create_vector(words / 2, 1, 2);
  every_second.Commit();
  const long one = 1;
  for (int target = 0; target < size(); ++target) {
    all.win().Accumulate(&one, 1, MPI::LONG, target, 5, 1, MPI::LONG, MPI::SUM);
    if (target == next()) all.win().Accumulate(numbers.data(), 1, every_second, target, 0, 1, every_second, MPI::MAX);
  }
  all.win().Fence(MPI::MODE_NOSUCCEED);
  CHECK(all.memory()[5] == 100 * previous() + 5 + size());
  CHECK(all.memory()[4] == 100 * previous() + 4);
  every_second.Free();
}

void posts(memory_kind kind) {
  step = "posts";
  window all(kind);
  const std::array<int, 1> before{previous()}, after{next()};
  MPI::Group world = MPI::COMM_WORLD.Get_group();
  MPI::Group origins = world.Incl(1, before.data()), targets = world.Incl(1, after.data());
  for (long turn = 1; turn <= 10; ++turn) {
    all.win().Post(origins, 0);
    all.win().Start(targets, 0);
    all.win().Put(&turn, 1, MPI::LONG, next(), 7, 1, MPI::LONG);
    all.win().Complete();
    if (turn % 2 == 0) {
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

void locks(memory_kind kind) {
  step = "locks";
  constexpr int turns = 50;
  window all(kind);
  for (int i = 0; i < turns; ++i) {
    long count = -1;
    all.win().Lock(MPI::LOCK_EXCLUSIVE, 0, 0);
    all.win().Get(&count, 1, MPI::LONG, 0, 3, 1, MPI::LONG);
    all.win().Unlock(0);
    CHECK(count >= i);
    const long one = 1;
    all.win().Lock(MPI::LOCK_SHARED, 0, 0);
    all.win().Accumulate(&one, 1, MPI::LONG, 0, 3, 1, MPI::LONG, MPI::SUM);
    all.win().Unlock(0);
  }
  MPI::COMM_WORLD.Barrier();
  all.win().Lock(MPI::LOCK_SHARED, rank(), 0);
  CHECK(all.memory()[3] == (rank() == 0 ? turns * size() : 0));
  all.win().Unlock(rank());
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

void attributes(memory_kind kind) {
  step = "attributes";
  int key = MPI::Win::Create_keyval(copy_attribute, delete_attribute, nullptr);
  {
    window all(kind);
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
  deleted = 0;
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

void errors(memory_kind kind) {
  step = "errors";
  window all(kind);
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
  all.win().Lock(MPI::LOCK_SHARED, rank(), 0);
  CHECK(all.memory()[9] == 1);
  all.win().Unlock(rank());

  MPI::Errhandler handler = MPI::Win::Create_errhandler(handle_error);
  all.win().Set_errhandler(handler);
  handled = handled_class = 0;
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
  program::cases cases(argc, argv);
  const auto run = [&](std::string_view name, void (*function)(memory_kind)) {
    if (cases.leave_out(name)) return;
    for (const memory_kind kind : {memory_kind::own, memory_kind::allocated}) function(kind);
  };
  run("fences", fences);
  run("posts", posts);
  run("locks", locks);
  run("attributes", attributes);
  run("errors", errors);
  cases.end();
  MPI::Finalize();
}
