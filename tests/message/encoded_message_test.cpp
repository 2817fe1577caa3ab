/// Messages of types that have a codec: of any size, in packets with others or alone.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/random.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_in_worlds;
using testing::next_of;

/// Its encoding is empty.
struct signal_only {
  std::vector<int> ignored;
};

/// Trivially copyable. Its sender sends twice the number.
struct doubled {
  int number;
};

/// What its codec's functions say about one another.
struct liar {
  std::vector<int> not_plain;
  int measured;
  int written;
  int read;
};

}  // namespace

template <>
struct codec<signal_only> {
  static std::size_t bytes(const signal_only&) { return 0; }
  static void write(byte_writer&, const signal_only&) {}
  static signal_only read(byte_reader&) { return {}; }
};

template <>
struct codec<doubled> {
  static std::size_t bytes(const doubled&) { return sizeof(int); }
  static void write(byte_writer& to, const doubled& value) { to.write_object(2 * value.number); }
  static doubled read(byte_reader& from) { return {from.read_object<int>()}; }
};

template <>
struct codec<liar> {
  static std::size_t bytes(const liar& value) { return 4 + static_cast<std::size_t>(value.measured); }
  static void write(byte_writer& to, const liar& value) {
    to.write_object(value.read);
    for (int i = 0; i < value.written; ++i) to.write_object('x');
  }
  static liar read(byte_reader& from) {
    liar value{{}, 0, 0, from.read_object<int>()};
    from.read_bytes(static_cast<std::size_t>(value.read));
    return value;
  }
};

namespace {

class encoded_messages : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, encoded_messages, testing::every_job(), testing::job_name);

using record = std::pair<std::uint32_t, std::string>;

record make_record(std::uint32_t seed) {
  splitmix64 random(seed);
  // Mostly short; some longer than the packets of every fabric of the tests.
  const std::size_t bytes = random.below(20) == 0 ? random.below(40'000) : random.below(100);
  return {seed, std::string(bytes, static_cast<char>('a' + seed % 26))};
}

TEST_P(encoded_messages, of_all_sizes_come_back_unchanged) {
  run([](world& w) {
    constexpr std::uint32_t records = 60;
    const auto with = [&](auto... policies) {
      std::uint64_t returned = 0;
      auto travel = w.message<record>(
          [&](const record& r, auto& self) {
            if (r != make_record(r.first)) ADD_FAILURE() << "record " << r.first << " has changed";
            const auto source = static_cast<rank_t>(r.first / records / 2);
            if (r.first % 2 == 1) {
              EXPECT_EQ(source, w.rank());
              ++returned;
            } else {
              self.send(source, make_record(r.first + 1));
            }
          },
          policies...);
      w.epoch([&] {
        for (std::uint32_t i = 0; i < records; ++i) {
          const auto number = static_cast<std::uint32_t>(w.rank()) * records + i;
          travel.send(static_cast<rank_t>(i) % w.size(), make_record(2 * number));
        }
      });
      EXPECT_EQ(returned, records);
    };
    with();
    with(coalesce{});
    with(coalesce{.bytes = 200});
    with(coalesce{.count = 3});
  });
}

class some_encoded_messages : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, some_encoded_messages, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

TEST_P(some_encoded_messages, may_be_empty) {
  run([](world& w) {
    const auto with = [&](auto... policies) {
      int arrived = 0;
      auto message = w.message<signal_only>([&](const signal_only&) { ++arrived; }, policies...);
      w.epoch([&] {
        for (int i = 0; i < 100; ++i) message.send((w.rank() + 1) % w.size(), {});
      });
      EXPECT_EQ(arrived, 100);
    };
    with();
    with(coalesce{});
    with(coalesce{.bytes = 1});
  });
}

TEST_P(some_encoded_messages, of_trivially_copyable_types_use_their_codec) {
  run([](world& w) {
    const auto with = [&](auto... policies) {
      int sum = 0;
      auto message = w.message<doubled>([&](const doubled& each) { sum += each.number; }, policies...);
      auto vectors = w.message<std::vector<doubled>>(
          [&](const std::vector<doubled>& all) {
            for (const doubled each : all) sum += each.number;
          },
          policies...);
      const auto own = w.share(sum);
      w.epoch([&] {
        const doubled value{3};
        message.send(next_of(w), value);
        message.send(next_of(w), {5});
        vectors.send(next_of(w), {{7}, {9}});
        w.async(
            next_of(w), [](int& to, const doubled& each) { to += each.number; }, own, doubled{11});
      });
      EXPECT_EQ(sum, 2 * (3 + 5 + 7 + 9 + 11));
    };
    with();
    with(coalesce{});
    with(route{grid{w.size()}}, coalesce{});
  });
}

TEST_P(some_encoded_messages, can_be_handled_as_what_they_convert_to) {
  run([](world& w) {
    int sum = 0;
    auto message = w.message<std::vector<int>>([&](std::span<const int> numbers) {
      for (const int each : numbers) sum += each;
    });
    w.epoch([&] { message.send((w.rank() + 1) % w.size(), {1, 2, 3}); });
    EXPECT_EQ(sum, 6);
  });
}

// Sending may run handlers first. They may change what is being sent; half of the one and half of the other must not go
// out.
TEST_P(some_encoded_messages, may_be_changed_by_handlers_while_they_are_sent) {
  run([](world& w) {
    std::string text;
    std::uint64_t damaged = 0, sent = 0, handled = 0;
    auto message = w.message<std::string>(
        [&](const std::string& seen) {
          ++handled;
          if (seen != std::string(seen.size(), 'x')) ++damaged;
          text += "xxx";
          if (text.size() > 1000) text.clear();
        },
        coalesce{.bytes = 512});
    w.epoch([&] {
      for (; handled < 500 && sent < 100'000; ++sent) message.send((w.rank() + 1) % w.size(), text);
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(w.sum(sent), w.sum(handled));
  });
}

/// What ends the job if rank 0 sends rank 1 one value of this kind, and then an honest one.
std::string failure_with(const liar& value, auto... policies) {
  return failure_in_worlds(2, [&](world& w) {
    auto message = w.message<liar>([](const liar&) {}, policies...);
    w.epoch([&] {
      if (w.rank() != 0) return;
      message.send(1, value);
      message.send(1, liar{{}, 2, 2, 2});
    });
  });
}

TEST(lying_codec, is_named_with_what_it_did) {
  const auto written = [](const std::string& problem) {
    return "amity: writing a message of type 'amity::{anonymous}::liar' (rank 0): " + problem +
           "; let codec<T>::bytes return exactly what codec<T>::write writes";
  };
  const auto read = [](const std::string& problem) {
    return "amity: reading a message of type 'amity::{anonymous}::liar' (rank 1): " + problem +
           "; let codec<T>::read take exactly what codec<T>::write wrote";
  };
  const std::string too_much = written("1 bytes were to be written, there is room for 0");
  const std::string too_little = written("2 bytes were not written");
  const struct {
    liar value;
    std::string failure;
    bool in_shared_packets_too = true;
  } cases[] = {{{{}, 5, 5, 5}, ""},
               {{{}, 9000, 9000, 9000}, "", false},
               {{{}, 5, 6, 5}, too_much},
               {{{}, 9000, 9001, 9000}, too_much, false},
               {{{}, 5, 3, 3}, too_little},
               {{{}, 9000, 8998, 8998}, too_little, false},
               {{{}, 5, 5, 7}, read("7 bytes exceed the 5 bytes that are left"), false},
               {{{}, 5, 5, 3}, read("2 bytes were not read"), false},
               {{{}, 9000, 9000, 8998}, read("2 bytes were not read"), false}};
  for (const auto& [value, failure, in_shared_packets_too] : cases) {
    EXPECT_EQ(failure_with(value), failure);
    if (in_shared_packets_too) {
      EXPECT_EQ(failure_with(value, coalesce{}), failure);
    }
  }
}

// The value after it begins where it has stopped, and is read as what it is not.
TEST(lying_codec, that_reads_too_little_does_not_go_unseen_in_a_shared_packet) {
  EXPECT_NE(failure_with({{}, 5, 5, 3}, coalesce{}), "");
  EXPECT_NE(failure_with({{}, 5, 5, 7}, coalesce{}), "");
}

}  // namespace
}  // namespace amity
