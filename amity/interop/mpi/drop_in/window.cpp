#include "amity/interop/mpi/drop_in/window.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/core/rank_list.hpp"
#include "amity/core/reduction.hpp"
#include "amity/interop/mpi/drop_in/am_hints.hpp"
#include "amity/interop/mpi/drop_in/foreign_processes.hpp"
#include "amity/interop/mpi/drop_in/groups.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"
#include "amity/window/attached_memory.hpp"
#include "amity/window/options.hpp"
#include "amity/window/window_error.hpp"

namespace amity::mpi {
namespace {

MPI_Op operation_of(core::reduction operation) {
  switch (operation) {
    case core::reduction::sum_u64:
      return MPI_SUM;
    case core::reduction::min_u64:
      return MPI_MIN;
    default:
      return MPI_MAX;
  }
}

/// Words that an operation of the MPI uses until it is complete. If the job fails before that, they are not freed,
/// because the MPI may use them still.
class words_of_mpi : private immovable {
 public:
  explicit words_of_mpi(std::size_t count) : words_(new std::vector<std::uint64_t>(count)) {}
  ~words_of_mpi() {
    if (std::uncaught_exceptions() == exceptions_) delete words_;
  }
  std::uint64_t& operator[](std::size_t index) noexcept { return (*words_)[index]; }
  std::uint64_t* data() noexcept { return words_->data(); }

 private:
  std::vector<std::uint64_t>* words_;
  int exceptions_ = std::uncaught_exceptions();
};

/// Waits for a request, and serves other ranks during that time.
void wait_for(job& in, MPI_Request request) {
  int code = MPI_SUCCESS, done = 0;
  in.wait_for([&] {
    if (done == 0 && code == MPI_SUCCESS) code = native::test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0 || code != MPI_SUCCESS;
  });
  check_native(code, "MPI_Test");
}

/// Replaces each word by its reduction over the members. MPIs compare unsigned words as signed ones (MPICH 4.0), so
/// that comparisons are those of signed words, whose first bit has the other value.
void reduce_on(job& in, MPI_Comm comm, MPI_Op operation, std::span<std::uint64_t> words) {
  const std::uint64_t changed_bits = operation == MPI_SUM ? 0 : std::uint64_t{1} << 63;
  words_of_mpi own(words.size());
  std::ranges::transform(words, own.data(), [&](std::uint64_t each) { return each ^ changed_bits; });
  MPI_Request request = MPI_REQUEST_NULL;
  check_native(native::iallreduce(MPI_IN_PLACE, own.data(), static_cast<int>(words.size()), MPI_INT64_T, operation,
                                  comm, &request),
               "MPI_Iallreduce");
  wait_for(in, request);
  std::transform(own.data(), own.data() + words.size(), words.begin(),
                 [&](std::uint64_t each) { return each ^ changed_bits; });
}

amity::detail::memory_of_window memory_for(const allocated_memory& allocated, const new_window& wanted,
                                           const window_info& info) {
  const auto bytes = static_cast<std::size_t>(wanted.bytes);
  switch (wanted.flavor) {
    case MPI_WIN_FLAVOR_CREATE:
      return {.own = mutable_bytes(static_cast<std::byte*>(wanted.base), bytes),
              .around = bytes > 0 ? allocated.find(wanted.base, bytes) : std::nullopt};
    case MPI_WIN_FLAVOR_DYNAMIC:
      return {.own = mutable_bytes(), .attached = std::make_shared<amity::detail::attached_memory>()};
    case MPI_WIN_FLAVOR_SHARED:
      return {.bytes = bytes,
              .where = info.says("alloc_shared_noncontig") ? shared_placement::separate : shared_placement::contiguous};
    default:
      return {.bytes = bytes};
  }
}

/// What a member has found wrong in its hints, as a word of which members take the maximum; without a problem, it is 0.
std::uint64_t word_of_problem(const mpi_error& found, rank_t member) noexcept {
  return static_cast<std::uint64_t>(found.error_class()) << 32 | (static_cast<std::uint64_t>(member) + 1);
}

/// For the members that have found nothing.
mpi_error error_of_problem(std::uint64_t word) {
  return {static_cast<int>(word >> 32),
          fmt::format("process {} of the communicator has given a wrong argument or hint, which its error names",
                      (word & 0xffffffff) - 1),
          "correct the call or the info object of that process"};
}

/// Whether the window has the attribute. To some MPIs it is an error to ask for a key that the program has freed.
bool has_attribute(MPI_Win handle, int key) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  native::win_get_errhandler(handle, &own);
  native::win_set_errhandler(handle, MPI_ERRORS_RETURN);
  void* value = nullptr;
  int is_set = 0;
  const bool is_known = native::win_get_attr(handle, key, &value, &is_set) == MPI_SUCCESS;
  native::win_set_errhandler(handle, own);
  native::errhandler_free(&own);
  return is_known && is_set != 0;
}

}  // namespace

bool window::can_serve(MPI_Comm comm) {
  int is_inter = 0;
  if (native::comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) return false;
  return foreign_processes::count_in(comm) == 0;
}

window::window(job& in, const allocated_memory& allocated, handle_pool& handles, am_operations& operations,
               const new_window& wanted)
    : job_(in),
      handles_(handles),
      operations_(operations),
      flavor_(wanted.flavor),
      unit_(wanted.unit),
      unit_attribute_(static_cast<int>(unit_)),
      bytes_(wanted.bytes),
      info_(wanted.flavor) {
  info_.merge(wanted.info);
  owned_group members(native::comm_group, wanted.comm);
  std::vector<rank_t> ranks =
      translate_ranks(members.handle(), owned_group(native::comm_group, MPI_COMM_WORLD).handle());
  size_ = static_cast<rank_t>(ranks.size());
  check_native(native::group_rank(members.handle(), &member_), "MPI_Group_rank");
  am_hints hints;
  std::optional<mpi_error> wrong_argument;
  try {
    if (wanted.flavor == MPI_WIN_FLAVOR_CREATE && wanted.bytes > 0)
      check_mapped(wanted.base, static_cast<std::size_t>(wanted.bytes), MPI_ERR_SIZE);
    hints = read_am_hints(info_, size_);
  } catch (const mpi_error& wrong) {  // reported when all members know it
    wrong_argument = wrong;
  }
  const auto reduce = [&](core::reduction operation, std::span<std::uint64_t> words) {
    reduce_on(in, wanted.comm, operation_of(operation), words);
  };
  const handle_pool::proposal proposed = handles.propose(ranks, member_);
  // All members are here afterwards: none of them needs this one while the MPI makes a handle.
  std::uint64_t problem = wrong_argument ? word_of_problem(*wrong_argument, member_) : 0;
  const handle_pool::proposal agreed = agree(in, wanted.comm, proposed, problem);
  const amity::detail::window_group group{.ranks = core::rank_list(ranks), .member = member_, .reduce = reduce};
  const amity::detail::memory_of_window memory = memory_for(allocated, wanted, info_);
  handle_ = handles.take(proposed, agreed);
  if (problem != 0) {
    if (handle_ != MPI_WIN_NULL) handles.give_back(handle_);
    throw wrong_argument ? *wrong_argument : error_of_problem(problem);
  }
  try {
    if (handle_ == MPI_WIN_NULL) {
      handle_ = make_handle(wanted.comm);
      handles.add(handle_, agreed, ranks);
    }
  } catch (const mpi_error&) {
    amity::detail::decline_window(group, memory);
    throw;
  }
  try {
    window_options options = in.options_of_windows();
    options.name = wanted.call;
    options.messages.handlers = &operations;
    options.messages.guarantees = hints.guarantees;
    options.messages.may_detach = hints.may_detach;
    options.messages.is_atomic = hints.is_atomic;
    core_ = std::make_unique<amity::detail::window_core>(in.team(), memory, options, group);
  } catch (const window_error&) {  // all members have one
    free_handle();
    throw;
  }
  base_ = wanted.flavor == MPI_WIN_FLAVOR_CREATE ? wanted.base : static_cast<void*>(core_->memory().data());
  if (is_dynamic()) base_ = MPI_BOTTOM;
  group_ = members.take();
}

window::~window() {
  core_.reset();
  // After a failure, the MPI would wait for processes that have gone.
  if (handle_ != MPI_WIN_NULL && !job_.has_failed()) free_handle();
  native::group_free(&group_);
}

void window::free_handle() noexcept {
  native::win_set_name(handle_, "");
  native::win_set_errhandler(handle_, MPI_ERRORS_ARE_FATAL);
  if (!handles_.give_back(handle_)) native::win_free(&handle_);
}

void window::note_attribute(int key) {
  if (std::ranges::find(attributes_, key) == attributes_.end()) attributes_.push_back(key);
}

int window::delete_attributes() {
  int result = MPI_SUCCESS;
  while (!attributes_.empty()) {
    const int key = attributes_.back();
    attributes_.pop_back();
    if (!has_attribute(handle_, key)) continue;
    const int code = native::win_delete_attr(handle_, key);
    if (result == MPI_SUCCESS) result = code;
  }
  return result;
}

void window::abandon() noexcept {
  core_->abandon();
  handle_ = MPI_WIN_NULL;
}

// Most windows have one unit, which two words agree on; only others need a word for each member.
handle_pool::proposal window::agree(job& in, MPI_Comm comm, const handle_pool::proposal& own, std::uint64_t& problem) {
  const auto unit = static_cast<std::uint64_t>(unit_);
  std::array largest{unit, ~unit, own.free, own.others, own.number, own.full, problem};
  reduce_on(in, comm, MPI_MAX, largest);
  problem = largest[6];
  if (largest[0] != ~largest[1]) learn_units(in, comm);
  return {.free = largest[2], .others = largest[3], .number = largest[4], .full = largest[5]};
}

void window::learn_units(job& in, MPI_Comm comm) {
  words_of_mpi units(static_cast<std::size_t>(size_) + 1);
  units[0] = static_cast<std::uint64_t>(unit_);
  MPI_Request request = MPI_REQUEST_NULL;
  check_native(native::iallgather(units.data(), 1, MPI_UINT64_T, units.data() + 1, 1, MPI_UINT64_T, comm, &request),
               "MPI_Iallgather");
  wait_for(in, request);
  for (std::size_t member = 0; member < static_cast<std::size_t>(size_); ++member)
    units_.push_back(static_cast<MPI_Aint>(units[member + 1]));
}

// Open MPI makes no dynamic windows of communicators with one process; MPICH makes few others.
MPI_Win window::make_handle(MPI_Comm comm) {
  MPI_Win made = MPI_WIN_NULL;
#if defined(OPEN_MPI)
  void* none = nullptr;
  check_native(native::win_allocate(0, 1, MPI_INFO_NULL, comm, &none, &made), "MPI_Win_allocate");
#else
  check_native(native::win_create_dynamic(MPI_INFO_NULL, comm, &made), "MPI_Win_create_dynamic");
#endif
  native::win_set_name(made, "");
  return made;
}

std::uint64_t window::place(rank_t member, MPI_Aint displacement) const {
  if (is_dynamic()) return static_cast<std::uint64_t>(displacement);
  MPI_Aint bytes = 0;
  if (displacement < 0 || __builtin_mul_overflow(displacement, unit_of(member), &bytes)) [[unlikely]] {
    throw mpi_error(MPI_ERR_DISP, fmt::format("a displacement of {} units", displacement),
                    "pass a displacement from 0 to the size of the memory of the target");
  }
  return static_cast<std::uint64_t>(bytes);
}

std::vector<rank_t> window::members_of(MPI_Group group) const {
  if (group == MPI_GROUP_NULL)
    throw mpi_error(MPI_ERR_GROUP, "the group is MPI_GROUP_NULL", "pass a group of processes of the window");
  std::vector<rank_t> members = translate_ranks(group, group_);
  const auto stranger = std::ranges::find(members, MPI_UNDEFINED);
  if (stranger == members.end()) return members;
  throw mpi_error(MPI_ERR_GROUP,
                  fmt::format("process {} of the group has no part in the window", stranger - members.begin()),
                  "pass a group of processes of the window");
}

void window::check_operation(MPIX_Am_op op, const am_operations::use& as) {
  const std::lock_guard lock(mutex_);
  const bool is_known = std::ranges::find(operations_used_, op) != operations_used_.end();
  operations_.check(op, as, is_known ? nullptr : &group_);
  if (!is_known) operations_used_.push_back(op);
}

void window::check_dynamic() const {
  if (is_dynamic()) return;
  throw mpi_error(MPI_ERR_RMA_FLAVOR, "a window whose memory is fixed", "pass a window of MPI_Win_create_dynamic");
}

void window::attach(void* base, std::size_t bytes) {
  check_dynamic();
  const std::lock_guard lock(mutex_);
  if (bytes == 0) return static_cast<void>(empty_pieces_.insert(base));
  check_mapped(base, bytes, MPI_ERR_RMA_ATTACH);
  const auto begin = reinterpret_cast<std::uintptr_t>(base), end = begin + bytes;
  const auto after = pieces_.lower_bound(end);
  if (after != pieces_.begin() && std::prev(after)->second > begin) {
    const auto& [first, last] = *std::prev(after);
    throw mpi_error(
        MPI_ERR_RMA_ATTACH,
        fmt::format("{} bytes at address {:#x} overlap the {} bytes at address {:#x}, which are attached to the window",
                    bytes, begin, last - first, first),
        "attach memory once, or detach it before");
  }
  core_->attach(base, bytes);
  pieces_.emplace(begin, end);
}

void window::detach(const void* base) {
  check_dynamic();
  const std::lock_guard lock(mutex_);
  const auto empty = empty_pieces_.find(base);
  if (empty != empty_pieces_.end()) return static_cast<void>(empty_pieces_.erase(empty));
  core_->detach(base);
  pieces_.erase(reinterpret_cast<std::uintptr_t>(base));
}

void* window::find_attribute(int key) noexcept {
  if (key == MPI_WIN_BASE) return base_;
  if (key == MPI_WIN_SIZE) return &bytes_;
  if (key == MPI_WIN_DISP_UNIT) return &unit_attribute_;
  if (key == MPI_WIN_CREATE_FLAVOR) return &flavor_;
  if (key == MPI_WIN_MODEL) return &model_;
  return nullptr;
}

}  // namespace amity::mpi
