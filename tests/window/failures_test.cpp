/// Errors that only the target of an operation finds are errors of the origin, whose program continues. Records that no
/// member sends are a failure of the job that names their sender.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/window/dynamic_window.hpp"
#include "amity/window/window.hpp"
#include "amity/window/window_records.hpp"
#include "amity/window/window_service.hpp"
#include "tests/support/texts.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using detail::window_act;
using testing::exchange_words;
using testing::expect_error;
using enum accumulate_op;

// Errors of origins

class failing_operations : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, failing_operations, ::testing::ValuesIn(testing::jobs_of_windows({3}, 3)),
                         testing::name_of_job);

// Each other rank learns of its own error on rank 0, and only the first one, also if others learn of theirs before.
TEST_P(failing_operations, origins_have_their_own_errors) {
  run([](world& w) {
    auto heap = w.create_dynamic_window({.name = "heap"});
    std::vector<int> own(4);
    heap.attach(std::span(own));
    const std::uint64_t there = exchange_words(w, dynamic_window::address_of(own.data()))[0];
    auto ints = heap.as<int>();
    int got = 0;
    heap.lock_all();
    if (w.rank() == 1) {
      ints.put(0, there + 16, 1);
      ints.get(0, there + 16, got);
    }
    if (w.rank() == 2) {
      ints.accumulate(sum, 0, there + 20, 1);
      ints.put(0, there + 16, 1);
    }
    if (w.rank() != 0) heap.flush_local(0);
    w.barrier();
    for (rank_t turn = 2; turn > 0; --turn) {
      if (w.rank() == turn) {
        expect_error([&] { heap.flush(0); },
                     {"window 'heap'", turn == 1 ? "window::put, target 0" : "window::accumulate, target 0"});
        heap.flush(0);
      }
      w.barrier();
    }
    if (w.rank() != 0) ints.accumulate(sum, 0, there + 4, 1);
    heap.unlock_all();
    w.barrier();
    EXPECT_EQ(own, (std::vector{0, w.rank() == 0 ? 2 : 0, 0, 0}));
    w.barrier();
  });
}

TEST_P(failing_operations, windows_have_their_own_errors) {
  run([](world& w) {
    auto first = w.create_dynamic_window({.name = "first"});
    auto second = w.create_dynamic_window({.name = "second"});
    std::vector<int> own(4);
    first.attach(std::span(own));
    second.attach(std::span(own));
    const auto at = exchange_words(w, dynamic_window::address_of(own.data()));
    const rank_t next = testing::next_of(w);
    const std::uint64_t there = at[static_cast<std::size_t>(next)];
    first.lock_all();
    second.lock_all();
    first.as<int>().put(next, there + 16, 1);
    second.as<int>().put(next, there, w.rank() + 1);
    second.flush_all();
    second.as<int>().accumulate(sum, next, there + 16, 1);
    expect_error([&] { first.unlock_all(); }, {"window 'first'", "window::put, target "});
    expect_error([&] { second.unlock_all(); }, {"window 'second'", "window::accumulate, target "});
    w.barrier();
    EXPECT_EQ(own, (std::vector{testing::previous_of(w) + 1, 0, 0, 0}));
    w.barrier();
  });
}

// Records that no member sends

template <class... Parts>
std::vector<std::byte> content_of(const Parts&... parts) {
  std::vector<std::byte> all;
  const auto append = [&](const auto& part) {
    const bytes_view bytes = std::as_bytes(std::span(&part, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  (append(parts), ...);
  return all;
}

/// Rank 0 sends rank 1 a record for a window of 64 bytes at each rank; returns how the job ends.
std::string end_of_record(core::record what, const std::vector<std::byte>& content = {}) {
  return testing::failure_in_worlds(2, [&](world& w) {
    auto words = w.allocate_window<std::uint64_t>(8, {.name = "words"});
    w.barrier();
    if (w.rank() == 0) {
      what.owner = core::record_owner::windows;
      what.bytes = static_cast<std::uint32_t>(content.size());
      detail::window_service::of(w.endpoint()).send(w.endpoint().lane_of(1, 0), what, content);
    }
    w.barrier();
    w.barrier();
  });
}

constexpr std::uint8_t number_of(window_act act) { return static_cast<std::uint8_t>(act); }

TEST(window_records, invalid_one_names_sender) {
  const auto refused = [](const core::record& what, const std::vector<std::byte>& content, std::string_view why) {
    testing::expect_parts(end_of_record(what, content),
                          {"(rank 1)", std::string("rank 0 sent an invalid packet: ") + std::string(why)});
  };
  const std::uint64_t word = 7;
  const auto put = number_of(window_act::put), get = number_of(window_act::get),
             accumulate = number_of(window_act::accumulate), swap = number_of(window_act::compare_swap);
  const detail::answer_place place_of_word{.at = 0, .bytes = 8};
  refused({.act = put, .object = 99}, content_of(word), "operation 0 on window 0x63 of 0x0, which is not there");
  refused({.act = put, .at = 60}, content_of(word), "8 bytes at offset 60 of a window of 64 bytes");
  refused({.act = put, .at = ~std::uint64_t{0}}, content_of(word), "8 bytes at offset 18446744073709551615");
  refused({.act = get}, content_of(place_of_word), "operation 1 of 16 bytes on a window");
  refused({.act = get, .question = 0}, {}, "operation 1 of 0 bytes on a window");
  refused({.act = get, .question = 0}, content_of(detail::answer_place{.at = 0, .bytes = 1 << 30}),
          "operation 1 of 16 bytes on a window");
  refused({.act = get, .question = 0, .at = 64}, content_of(place_of_word),
          "8 bytes at offset 64 of a window of 64 bytes");
  refused({.act = accumulate, .op = 200}, content_of(word), "accumulate 200 on type 0 of 8 bytes at offset 0");
  refused({.act = accumulate, .word_bytes = 200}, content_of(word), "accumulate 0 on type 200 of 8 bytes");
  refused({.act = swap, .word_bytes = 3, .question = 0}, content_of(detail::swap_operands{}),
          "compare and swap of 3 bytes at 0");
  refused({.act = swap, .word_bytes = 8, .question = 0, .at = 4}, content_of(detail::swap_operands{}),
          "compare and swap of 8 bytes at 4");
  refused({.act = swap, .word_bytes = 8, .question = 0}, content_of(word), "operation 3 of 8 bytes on a window");
  refused({.act = number_of(window_act::put_blocks)}, content_of(detail::block_place{.number = 5, .from = 0}, word),
          "layout 5, which it has not sent");
  refused({.act = number_of(window_act::layout)}, content_of(word), "8 bytes of layout 0 at 0 of 0");
  refused({.act = number_of(window_act::layout)},
          content_of(detail::layout_part{.number = 1, .bytes = 8, .at = 8}, word), "8 bytes of layout 1 at 8 of 8");
  refused({.act = number_of(window_act::layout)},
          content_of(detail::layout_part{.number = 1, .bytes = 8, .at = 0}, word),
          "layout 1: amity: window layout: 8 bytes instead of a layout");
  refused({.act = number_of(window_act::am_unit)}, content_of(word), "an active message on window 'words'");
  // The identity of the first window is 0.
  refused({.act = number_of(window_act::lock), .op = 77}, {}, "operation 15 with 77 on window 'words'");
  refused({.act = number_of(window_act::failure), .question = 0}, {}, "a request for an error that does not exist");
  refused({.act = number_of(window_act::granted)}, {}, "operation 24 with 0 on window 'words'");
  refused({.act = number_of(window_act::introduce)}, {}, "operation 25 with 0 on window 'words'");
  refused({.act = 60}, {}, "operation 60 with 0 on window 'words'");
}

// The first failure stays, whatever the program calls.
TEST(window_records, failure_is_that_of_all_later_calls) {
  const std::string text = testing::failure_in_worlds(2, [](world& w) {
    auto words = w.allocate_window<std::uint64_t>(8, {.name = "words"});
    w.barrier();
    const auto send = [&](std::uint64_t at) {
      const std::vector<std::byte> content(8);
      detail::window_service::of(w.endpoint())
          .send(w.endpoint().lane_of(1, 0),
                {.owner = core::record_owner::windows, .act = number_of(window_act::put), .bytes = 8, .at = at},
                content);
    };
    if (w.rank() == 0) {
      send(64);
      send(72);
      w.barrier();
      return;
    }
    const std::initializer_list<std::string_view> first{"rank 0 sent an invalid packet: 8 bytes at offset 64 of"};
    words.lock_all();
    std::uint64_t got = 0;
    expect_error(
        [&] {
          for (;;) w.poll();
        },
        first);
    expect_error([&] { w.poll(); }, first);
    expect_error(
        [&] {
          words.get(0, 0, got);
          words.flush(0);
        },
        first);
    expect_error([&] { words.unlock_all(); }, first);
    w.endpoint().own_engine().send(0, core::service::wake, {});  // it does not throw
    w.barrier();
  });
  testing::expect_parts(text, {"(rank 1)", "rank 0 sent an invalid packet: 8 bytes at offset 64 of"});
}

}  // namespace
}  // namespace amity
