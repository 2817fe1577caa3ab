// Windows of communicators that overlap, made and freed in a random order: processes without a part in one are ahead of
// the others. An operation may arrive for a window that its target is still making, and numbers of windows are used
// again only when all members have freed them. A plain MPI program.

#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using ints = program::filled_window<int>;
using program::rank;
using program::size;
using program::step;

/// A communicator, as all processes know it.
struct part_of_world {
  std::vector<int> members;  ///< ranks in MPI_COMM_WORLD, in the order of the communicator
  MPI_Comm comm = MPI_COMM_NULL;
};

std::vector<part_of_world> make_parts() {
  std::vector<part_of_world> all;
  std::vector<int> forwards, backwards;
  for (int member = 0; member < size(); ++member) {
    forwards.push_back(member);
    backwards.insert(backwards.begin(), member);
    all.push_back({{member}});
  }
  all.push_back({forwards});
  all.push_back({backwards});
  for (int first = 0; first < size(); ++first) {
    for (int second = first + 1; second < size(); ++second) all.push_back({{second, first}});
  }
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (part_of_world& each : all) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_incl(world, static_cast<int>(each.members.size()), each.members.data(), &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &each.comm);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
  return all;
}

struct open_window {
  const part_of_world* of;
  std::unique_ptr<ints> window;  ///< null on processes without a part
};

/// Each member puts the number of its round to the next one, and gets it from there.
void use(const open_window& opened, int round) {
  int own = 0, members = 0;
  MPI_Comm_rank(opened.of->comm, &own);
  MPI_Comm_size(opened.of->comm, &members);
  const int to = (own + 1) % members, value = 10 * round + own;
  int seen = -1;
  const MPI_Win win = opened.window->win;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
  MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, win);
  MPI_Win_flush(to, win);
  MPI_Get(&seen, 1, MPI_INT, to, 0, 1, MPI_INT, win);
  MPI_Win_unlock(to, win);
  CHECK(seen == value);
  MPI_Barrier(opened.of->comm);
  MPI_Win_lock(MPI_LOCK_SHARED, own, 0, win);
  CHECK(opened.window->memory[0] == 10 * round + (own + members - 1) % members);
  CHECK(opened.window->memory[1] == rank());
  MPI_Win_unlock(own, win);
  MPI_Barrier(opened.of->comm);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::cases arguments(argc, argv);
  arguments.leave_out("no_shared");  // it makes none
  const int rounds = arguments.leave_out("most_rounds") ? 80 : 400;
  arguments.end();
  step = "communicators that overlap";
  const std::vector<part_of_world> parts = make_parts();
  std::minstd_rand shared(11);  // the same numbers everywhere
  constexpr std::size_t open_max = 12;
  std::vector<open_window> opened;
  const std::array<const char*, 2> flavors{"allocated", "created"};
  for (int round = 0; round < rounds; ++round) {
    step = "making a window";
    const part_of_world& part = parts[shared() % parts.size()];
    const bool is_created = shared() % 2 == 0;
    opened.push_back({&part, nullptr});
    if (part.comm != MPI_COMM_NULL)
      opened.back().window = std::make_unique<ints>(flavors[is_created ? 1 : 0], 2, part.comm);
    step = "using a window";
    if (const open_window& any = opened[shared() % opened.size()]; any.window != nullptr) use(any, round);
    if (opened.size() < open_max) continue;
    step = "freeing a window";
    opened.erase(opened.begin() + static_cast<std::ptrdiff_t>(shared() % opened.size()));
  }
  opened.clear();
}
