#include "amity/interop/mpi/drop_in/am_operations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/handler_call.hpp"
#include "amity/interop/mpi/drop_in/loaded_object.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/window_error.hpp"

namespace amity::mpi {
namespace {

constexpr std::array error_texts{
    "the buffers of the target of an active message are too small for one segment",
    "a handler of an active message has set a count that is too large",
    "a buffer was detached that active messages use",
    "fewer bytes are attached than are guaranteed to the origins of active messages",
    "a handler of an active message has failed",
};

/// The element of a type that this process has, in an encoded list.
bytes_view take(bytes_view& rest, std::size_t bytes) {
  if (bytes > rest.size())
    throw error("an active message", no_rank, "its types are damaged", "run the same build on all ranks");
  const bytes_view taken = rest.first(bytes);
  rest = rest.subspan(bytes);
  return taken;
}

}  // namespace

/// Calls the function of the program with types of this process.
class am_operations::recipe final : public amity::detail::am_recipe {
 public:
  recipe(am_operations& of, const operation& what, bytes_view extra) : of_(of), what_(what) {
    std::memcpy(&counts_, take(extra, sizeof counts_).data(), sizeof counts_);
    const auto keep = [](bytes_view encoded) { return std::vector<std::byte>(encoded.begin(), encoded.end()); };
    input_ = keep(take(extra, counts_.input_bytes));
    persistent_ = keep(take(extra, counts_.persistent_bytes));
    output_ = keep(extra);
  }

  void run(const am_call& call) override {
    MPI_Datatype input, persistent, output;
    {
      const std::lock_guard lock(of_.mutex_);
      input = of_.types_.find(input_);
      persistent = of_.types_.find(persistent_);
      output = of_.types_.find(output_);
    }
    const am_user_handler& handler = *what_.handler;
    const MPI_Count largest = std::max({counts_.input_count, counts_.persistent_count, counts_.output_count});
    if (largest > handler.count_max())
      throw error("an active message", no_rank,
                  fmt::format("{} takes {} elements at most, and not {}", what_.title(), handler.count_max(), largest),
                  "create the operation by a function whose name ends in _c");
    // The core has no counts for a vector message without output.
    std::vector<std::uint32_t> zeros(is_vector() && call.output_counts.empty() ? call.segments : 0);
    const std::span<std::uint32_t> output_counts = zeros.empty() ? call.output_counts : std::span(zeros);
    const handler_call running;
    handler.call({.input = call.input.data(),
                  .input_of = {counts_.input_count, input},
                  .persistent = call.persistent.data(),
                  .persistent_of = {counts_.persistent_count, persistent},
                  .output = call.output.data(),
                  .output_of = {counts_.output_count, output},
                  .segments = static_cast<MPI_Count>(call.segments),
                  .output_counts = output_counts});
    if (running.refused() != nullptr)
      throw error("an active message", no_rank, fmt::format("{} has called {}", what_.title(), running.refused()),
                  running.remedy());
    check_counts(output_counts);
  }

  bool is_vector() const noexcept { return counts_.is_vector != 0; }

 private:
  void check_counts(std::span<const std::uint32_t> counts) const {
    const auto wrong = std::ranges::find_if(counts, [&](std::uint32_t each) { return each > counts_.output_count; });
    if (wrong == counts.end()) return;
    const auto segment = wrong - counts.begin();
    const bool is_negative = *wrong > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
    throw window_error(
        window_fault::range, "an active message", no_rank,
        fmt::format("{} has set the count of segment {} to {}, and the largest is {}", what_.title(), segment,
                    is_negative ? "a negative or too large number" : fmt::to_string(*wrong), counts_.output_count),
        "set counts from 0 to target_output_segment_count");
  }

  am_operations& of_;
  const operation& what_;
  am_types counts_{};
  std::vector<std::byte> input_, persistent_, output_;
};

am_operations::am_operations(job& in, bool threads) : job_(in), has_threads_(threads), types_(datatype::predefined()) {}
am_operations::~am_operations() = default;

am_operations::operation* am_operations::find(MPIX_Am_op op) noexcept {
  const auto found = all_.find(op);
  return found == all_.end() ? nullptr : &found->second;
}

bool am_operations::may_run_here() const noexcept { return has_threads_ || !job_.is_on_progress_thread(); }

/// "the handler 'count_words' (operation 3)"
std::string am_operations::operation::title() const {
  return fmt::format("the handler {} (operation {})", describe_function(handler->address()), number);
}

/// The first process of the job warns, once, that handlers wait for calls of the program.
void am_operations::warn_of_threads() {
  if (job_.world().rank() != 0 || has_threads_ || !job_.has_progress_thread()) return;
  if (std::exchange(has_warned_, true)) return;
  log_warning(no_rank,
              "AMITY_PROGRESS_THREAD=1 has no effect on active messages, because the MPI does not provide "
              "MPI_THREAD_MULTIPLE: handlers run in calls of MPI alone; call MPI_Init_thread with MPI_THREAD_MULTIPLE");
}

int am_operations::agree(MPI_Comm comm, int number, MPI_Op how) {
  int agreed = 0, done = 0, code = MPI_SUCCESS;
  MPI_Request request = MPI_REQUEST_NULL;
  check_native(native::iallreduce(&number, &agreed, 1, MPI_INT, how, comm, &request), "MPI_Iallreduce");
  job_.wait_for([&] {
    if (done == 0 && code == MPI_SUCCESS) code = native::test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0 || code != MPI_SUCCESS;
  });
  check_native(code, "MPI_Test");
  return agreed;
}

// All processes of the communicator take a number that none of them has used. Other threads may take one at the
// same time, with other communicators. The operation exists before the last agreement, after which others send
// messages.
MPIX_Am_op am_operations::create(MPI_Comm comm, std::unique_ptr<const am_user_handler> handler) {
  int is_inter = 0;
  native::comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    throw mpi_error(MPI_ERR_COMM, "an inter-communicator", "pass one with all processes of the windows");
  warn_of_threads();
  operation made{
      .number = 0, .handler = std::move(handler), .members = std::make_unique<owned_group>(native::comm_group, comm)};
  for (;;) {
    int number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = next_;
    }
    number = agree(comm, number, MPI_MAX);
    bool is_free = false;
    {
      const std::lock_guard lock(mutex_);
      is_free = number >= next_;
      next_ = std::max(next_, number + 1);
      made.number = number;
      if (is_free) all_.emplace(number, std::move(made));
    }
    if (agree(comm, is_free ? 1 : 0, MPI_MIN) != 0) return number;
    const std::lock_guard lock(mutex_);
    if (is_free) made = std::move(all_.extract(number).mapped());
  }
}

void am_operations::free(MPIX_Am_op op) {
  const std::lock_guard lock(mutex_);
  operation* const found = find(op);
  if (found == nullptr || found->is_free)
    throw mpi_error(MPI_ERR_OP, fmt::format("operation {} does not exist", op), "free each operation once");
  found->is_free = true;
  found->members = nullptr;
}

void am_operations::check(MPIX_Am_op op, const use& as, const MPI_Group* members) {
  const std::lock_guard lock(mutex_);
  operation* const found = find(op);
  if (found == nullptr || found->is_free) {
    throw mpi_error(MPI_ERR_OP, fmt::format("operation {} does not exist", op),
                    "pass what MPIX_Am_op_create or MPIX_Amv_op_create has returned, before it is freed");
  }
  if (as.is_vector != found->handler->is_vector()) {
    throw mpi_error(MPI_ERR_OP,
                    fmt::format("the operation of {}, which {} has made", found->title(),
                                as.is_vector ? "MPIX_Am_op_create" : "MPIX_Amv_op_create"),
                    as.is_vector ? "call MPIX_Am" : "call MPIX_Amv");
  }
  if (as.count > found->handler->count_max()) {
    throw mpi_error(MPI_ERR_COUNT,
                    fmt::format("{} elements for {}, which takes {} at most", as.count, found->title(),
                                found->handler->count_max()),
                    "create the operation by a function whose name ends in _c");
  }
  if (members == nullptr) return;
  const std::vector<int> there = translate_ranks(*members, found->members->handle());
  if (std::ranges::find(there, MPI_UNDEFINED) == there.end()) return;
  throw mpi_error(
      MPI_ERR_OP,
      fmt::format("the operation of {}, whose communicator has not all processes of the window", found->title()),
      "create the operation on a communicator with all of them");
}

// On the thread that carries out records of the window.
std::unique_ptr<amity::detail::am_recipe> am_operations::prepare(const amity::detail::am_description& of) {
  const std::lock_guard lock(mutex_);
  operation* const found = find(static_cast<MPIX_Am_op>(of.operation));
  if (found == nullptr) {
    throw error("an active message", no_rank, fmt::format("operation {} does not exist", of.operation),
                "create it on all processes of its communicator");
  }
  auto made = std::make_unique<recipe>(*this, *found, of.extra);
  if (made->is_vector() == found->handler->is_vector()) return made;
  throw error("an active message", no_rank, fmt::format("operation {} is not the same on all processes", of.operation),
              "call the same function on all processes of the communicator to create it");
}

int am_operations::error_class_of(int which) {
  if (which < 0 || static_cast<std::size_t>(which) >= error_texts.size()) return MPI_ERR_UNKNOWN;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = error_classes_.size(); i < error_texts.size(); ++i) {
    int made = MPI_ERR_OTHER;
    if (native::add_error_class(&made) == MPI_SUCCESS) native::add_error_string(made, error_texts[i]);
    error_classes_.push_back(made);
  }
  return error_classes_[static_cast<std::size_t>(which)];
}

}  // namespace amity::mpi
