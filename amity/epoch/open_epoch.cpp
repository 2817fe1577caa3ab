#include "amity/epoch/open_epoch.hpp"

#include <algorithm>

namespace amity::epoch {

open_epoch::open_epoch(core::team& threads, epochs& owner, other_threads others, function_ref<void(rank_t)> body)
    : threads_(threads), epochs_(owner), others_(others) {
  epochs_.check_begin();
  threads_.run([&](rank_t thread) {
    epochs& own = thread == 0 ? epochs_ : other(thread).periods();
    own.begin();
    body(thread);
    if (thread > 0) other(thread).leave_the_end();
  });
}

bool open_epoch::step(function_ref<std::uint64_t()> value, summand time) {
  epochs_.check_unended(ended_);
  const auto others_are_inside = [&] {
    return !std::ranges::all_of(others_, [](const auto& each) { return each->ended(); });
  };
  return ended_ = epochs_.try_end(value, time, others_are_inside);
}

std::uint64_t open_epoch::wait(function_ref<std::uint64_t()> value, summand time) {
  epochs_.check_unended(ended_);
  epochs_.end_body();
  threads_.run([&](rank_t thread) {
    if (thread == 0) {
      epochs_.end(value, time);
    } else {
      other(thread).wait_for_end();
    }
  });
  ended_ = true;
  return epochs_.sum();
}

}  // namespace amity::epoch
