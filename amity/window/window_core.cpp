#include "amity/window/window_core.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/window/window_epochs.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

shared_placement checked(shared_placement where, core::team& of, std::string_view name) {
  if (where == shared_placement::contiguous || where == shared_placement::separate) return where;
  const std::string given = where == shared_placement::none ? "none" : fmt::to_string(static_cast<int>(where));
  throw error("world::allocate_shared_window", of.lane(0).rank(),
              fmt::format("window '{}': the placement is {}", name, given),
              "pass shared_placement::contiguous or separate, or call allocate_window");
}

/// Other threads may use a serialized engine during the waits.
std::unique_ptr<window_epochs> make_epochs(core::team& of, direct_access& direct, const memory_of_window& memory,
                                           const window_options& options, const window_group* group = nullptr) {
  const core::engine::entry entered(of.lane(0).own_engine(), "window");
  return std::make_unique<window_epochs>(of, direct, memory, options, group);
}

}  // namespace

window_core::window_core(core::team& of, std::optional<mutable_bytes> own, std::size_t bytes, std::size_t element_bytes,
                         const window_options& options)
    : epochs_(make_epochs(of, direct_, memory_of_window{.own = own, .bytes = bytes, .element_bytes = element_bytes},
                          options)) {}

window_core::window_core(core::team& of, std::size_t bytes, std::size_t element_bytes, shared_placement where,
                         const window_options& options)
    : epochs_(make_epochs(
          of, direct_,
          memory_of_window{.bytes = bytes, .where = checked(where, of, options.name), .element_bytes = element_bytes},
          options)) {}

window_core::window_core(core::team& of, const window_options& options)
    : epochs_(make_epochs(of, direct_,
                          memory_of_window{.own = mutable_bytes(), .attached = std::make_shared<attached_memory>()},
                          options)) {}

window_core::window_core(core::team& of, const memory_of_window& memory, const window_options& options,
                         const window_group& members)
    : epochs_(make_epochs(of, direct_, memory, options, &members)) {}

window_core::window_core() = default;

// An owned engine is checked by the end of the window, which does not throw.
window_core::~window_core() {
  if (epochs_ == nullptr) return;
  core::engine& own = epochs_->own_engine();
  std::optional<core::engine::entry> entered;
  if (own.lock() != nullptr) entered.emplace(own);
  epochs_.reset();
}

window_epochs& window_core::epochs(std::string_view call) const {
  if (epochs_ != nullptr) [[likely]]
    return *epochs_;
  throw error(call, no_rank, "the window has been moved to another object", "use the object that it was moved to");
}

void window_core::abandon() noexcept { epochs_->abandon(); }

mutable_bytes window_core::memory() const { return epochs("window::local").memory(); }
const std::string& window_core::name() const { return epochs("window::name").name(); }

mutable_bytes window_core::mapped(rank_t member) {
  const direct_access::target* const found = member < 0 ? nullptr : direct_.targets.find(member);
  return found == nullptr ? epochs("window::mapped").mapped(member) : mutable_bytes(found->base, found->bytes);
}

bool window_core::is_between_epochs() const noexcept { return epochs_->is_between_epochs(); }

void window_core::check_end(std::string_view call) { epochs_->check_end(call); }
void window_core::check_lock(std::string_view call, rank_t target) {
  epochs_->check_permitted(call, window_call::flush, target);
}
void window_core::check_operation(std::string_view call, rank_t target) {
  epochs_->check_permitted(call, window_call::operation, target);
}
void window_core::attach(const void* base, std::size_t bytes) { epochs("window::attach").attach(base, bytes); }
void window_core::detach(const void* base) { epochs("window::detach").detach(base); }
void window_core::fence(window_assert promised) { epochs("window::fence").fence(promised); }
void window_core::start(std::span<const rank_t> targets, window_assert promised) {
  epochs("window::start").start(targets, promised);
}
void window_core::complete() { epochs("window::complete").complete(); }
void window_core::post(std::span<const rank_t> origins, window_assert promised) {
  epochs("window::post").post(origins, promised);
}
void window_core::wait() { epochs("window::wait").wait(); }
bool window_core::test() { return epochs("window::test").test(); }
void window_core::lock(lock_kind kind, rank_t target, window_assert promised) {
  epochs("window::lock").lock(kind, target, promised);
}
void window_core::unlock(rank_t target) { epochs("window::unlock").unlock(target); }
void window_core::lock_all(window_assert promised) { epochs("window::lock_all").lock_all(promised); }
void window_core::unlock_all() { epochs("window::unlock_all").unlock_all(); }
void window_core::flush_slowly(rank_t target) { epochs("window::flush").flush(target); }
void window_core::flush_all_slowly() { epochs("window::flush_all").flush_all(); }
void window_core::flush_local_slowly(rank_t target) { epochs("window::flush_local").flush_local(target); }
void window_core::flush_local_all_slowly() { epochs("window::flush_local_all").flush_local_all(); }
bool window_core::test_local(rank_t target) { return epochs_->test_local(target); }
void window_core::wait_local(rank_t target) { epochs_->wait_local(target); }
bool window_core::is_complete_here(rank_t target) noexcept { return epochs_->is_complete_here(target); }
void window_core::take_over_accumulates() { epochs("window::take_over_accumulates").take_over_accumulates(); }
void window_core::make_progress() {
  if (epochs_ != nullptr) epochs_->make_progress();  // else the operation throws
}
void window_core::poll(std::string_view call) { epochs(call).poll(call); }

void window_core::check_message(std::string_view call, const message_shape& of) const {
  const rank_t member = epochs(call).member();
  const auto refuse = [&](const std::string& problem, std::string_view remedy) {
    throw window_error(window_fault::argument, call, member, fmt::format("window '{}': {}", name(), problem), remedy);
  };
  if (of.is_vector_call != of.is_vector_operation)
    refuse(of.is_vector_call ? "the operation is not a vector operation" : "the operation is a vector operation",
           "use am for what am_table::add has returned, and amv for what add_vector has returned");
  if (of.has_null) refuse("input, output or output counts are a null pointer", "pass spans of elements");
  if (of.elements > SIZE_MAX / of.element_bytes)
    refuse(fmt::format("{} elements of {} bytes are out of range", of.elements, of.element_bytes),
           "pass an index and a count that lie in the target's memory");
  if (of.segments == 0) return;
  if (of.inputs % of.segments != 0 || of.outputs % of.segments != 0)
    refuse(fmt::format("{} elements of input and {} of output in {} segments", of.inputs, of.outputs, of.segments),
           "pass as many elements for each segment");
  if (!of.is_vector_call) return;
  if (of.counts != of.segments)
    refuse(fmt::format("{} output counts for {} segments", of.counts, of.segments), "pass a count for each segment");
  if (of.outputs == 0 || of.outputs / of.segments > std::numeric_limits<std::uint32_t>::max())
    refuse(fmt::format("{} elements of output for each segment", of.outputs / of.segments),
           "pass space for 1 to 4294967295 elements");
}

void window_core::send_message(std::string_view call, rank_t target, am_message what) {
  epochs(call).send_message(call, target, std::move(what), nullptr);
}
void window_core::send_message(std::string_view call, rank_t target, const am_description& about, am_message what) {
  epochs(call).send_message(call, target, std::move(what), &about);
}
void window_core::attach_buffer(mutable_bytes memory) { epochs("window::attach_buffer").attach_buffer(memory); }
void window_core::detach_buffer(const void* base) { epochs("window::detach_buffer").detach_buffer(base); }
am_counters window_core::counters_of(rank_t target) { return epochs("window::counters_of").counters_of(target); }

void window_core::begin(std::string_view call, window_operation what) {
  epochs(call).begin(call, std::move(what), false);
}

void window_core::begin_copied(std::string_view call, window_operation what) {
  epochs(call).begin(call, std::move(what), true);
}

void window_core::begin_in_blocks(std::string_view call, window_operation what, const origin_layouts& own) {
  epochs(call).begin_in_blocks(call, std::move(what), own);
}

}  // namespace amity::detail
