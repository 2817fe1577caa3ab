#include "amity/epoch/epoch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::epoch {
namespace {

// Generations travel in a byte; more rounds than this would take longer than any other detector.
constexpr int depth_counted_max = 250;

}  // namespace

epochs::epochs(core::endpoint& owner, std::unique_ptr<detector> of_any_depth,
               std::unique_ptr<detector> of_declared_depth)
    : endpoint_(owner),
      of_any_depth_(std::move(of_any_depth)),
      of_declared_depth_(std::move(of_declared_depth)),
      detector_(of_any_depth_.get()) {}

void epochs::check_begin() const {
  endpoint_.check_thread("epoch");
  if (endpoint_.in_handler()) {
    throw error("epoch", endpoint_.rank(), "a handler tried to begin an epoch", "begin epochs outside handlers");
  }
  if (inside()) {
    throw error("epoch", endpoint_.rank(), fmt::format("epoch {} has not ended yet", count_),
                "end an epoch before the next one begins; epochs do not nest");
  }
}

void epochs::begin() {
  check_begin();
  endpoint_.begin_call();
  // 1 to 255 in a circle; 0 stands for no epoch.
  const auto tag = static_cast<core::epoch_tag>(count_ % 255 + 1);
  ++count_;
  const int declared = depth();
  detector_ = declared == core::any_depth ? of_any_depth_.get() : of_declared_depth_.get();
  detector_->begin(declared);
  endpoint_.open_epoch(tag, declared);
}

int epochs::request_depth(int depth) {
  if (depth < 0) {
    throw error("epoch depth", endpoint_.rank(), fmt::format("{} is not a depth", depth),
                "use 0 if handlers do not send, 1 if they send messages whose handlers do not, and so on");
  }
  if (inside()) {
    throw error("epoch depth", endpoint_.rank(), fmt::format("epoch {} has begun already", count_),
                "request a depth before the epoch begins");
  }
  const auto largest = endpoint_.reduce(core::reduction::max_u64, static_cast<std::uint64_t>(depth));
  add_depth(static_cast<int>(largest));
  return depths_.back();
}

void epochs::release_depth(int requested) noexcept {
  depths_.erase(std::ranges::find(depths_, requested));
  if (!inside() || std::uncaught_exceptions() > 0) return;
  endpoint_.fail(std::make_exception_ptr(error(
      "epoch depth", endpoint_.rank(), fmt::format("the request of depth {} has ended in epoch {}", requested, count_),
      "let requests end outside epochs")));
}

int epochs::depth() const noexcept {
  if (depths_.empty() || endpoint_.has_routes()) return core::any_depth;
  const int largest = *std::ranges::max_element(depths_);
  return largest > depth_counted_max ? core::any_depth : largest;
}

void epochs::end_body() {
  endpoint_.check_thread("epoch");
  if (endpoint_.in_handler()) {
    throw error("epoch", endpoint_.rank(), "a handler tried to end the epoch", "end epochs outside handlers");
  }
  if (!inside()) {
    throw error("epoch", endpoint_.rank(), "there is no epoch to end", "begin an epoch first");
  }
  endpoint_.end_epoch_body();
}

std::uint64_t epochs::end(function_ref<std::uint64_t()> value, summand when) {
  end_body();
  endpoint_.await_end_call();
  endpoint_.wait_until(
      core::wait_for_end_of_epoch, [this] { return ended(); }, [&] { return take_part(value, when); });
  leave();
  return detector_->sum();
}

bool epochs::try_end(function_ref<std::uint64_t()> value, summand when, function_ref<bool()> stays) {
  end_body();
  const auto messages = [this] {
    const core::traffic& all = endpoint_.counts().total();
    return all.messages_sent + all.messages_handled;
  };
  const std::uint64_t before = endpoint_.activity(), messages_before = messages();
  const bool any = endpoint_.progress();
  // Sends after this call find no open packet, and fail because they are too late.
  const bool sent = endpoint_.flush();
  // Packets of collectives do not keep the rank from taking part: one may arrive in each call.
  const bool has_taken_part = messages() == messages_before && !sent && take_part(value, when);
  // Other worlds may be busy, which is no reason to wait; what they collect is sent when nothing else is to do.
  core::engine& engine = endpoint_.own_engine();
  const bool is_idle = endpoint_.activity() == before && !sent && !has_taken_part && !any && !engine.flush_all();
  engine.polled(endpoint_, core::wait_for_end_of_epoch,
                is_idle ? core::engine::poll_round::idle : core::engine::poll_round::eventful);
  if (!ended() || stays()) return false;
  leave();
  engine.polled(endpoint_, core::wait_for_end_of_epoch, core::engine::poll_round::last);
  return true;
}

bool epochs::try_end_idle() {
  const bool news = take_part([] { return std::uint64_t{0}; }, summand::passive);
  // Packets that wait for their handlers belong to this epoch or to none: they are handled first.
  if (ended() && !endpoint_.own_engine().not_due().holds_due(endpoint_.number())) leave();
  return news;
}

bool epochs::take_part(function_ref<std::uint64_t()> value, summand when) {
  if (!detector_->wants_part() || !endpoint_.quiet()) return false;
  const bool late = when == summand::late;
  const bool is_asked = detector_->collects_late() == late;
  return detector_->passive(is_asked ? value() : 0, late);
}

void epochs::check_unended(bool has_ended) const {
  if (!has_ended) return;
  throw error("epoch", endpoint_.rank(), "the epoch has ended already",
              "call try_end until it tells the end, and end once");
}

void epochs::fail_unended() noexcept {
  endpoint_.fail(std::make_exception_ptr(error("epoch", endpoint_.rank(),
                                               fmt::format("epoch {} was begun, and destroyed before its end", count_),
                                               "call end, or try_end until it tells the end")));
}

}  // namespace amity::epoch
