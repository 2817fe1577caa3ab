/// Every form of handler gets every message once, with and without coalescing.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "amity/base/random.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::next_of;

class handler_forms : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, handler_forms, testing::every_job(), testing::job_name);

/// Each is different from all others, and is sent on as often as `hops` says.
struct token {
  std::uint32_t number;
  std::uint32_t hops;
};

constexpr std::uint32_t tokens_per_pair = 40;
constexpr std::uint32_t hops = 3;

/// What one rank, or all, have seen: two collections of tokens with equal tallies are equal but for chance.
struct tally {
  std::uint64_t count = 0;
  std::uint64_t hash = 0;

  void add(const token& seen) {
    ++count;
    hash += splitmix64::mix((std::uint64_t{seen.number} << 32) + seen.hops);
  }
};

/// Every rank sends its tokens to every rank.
template <class Message>
void send_tokens(world& w, Message& message, std::uint32_t hops_each) {
  auto number = static_cast<std::uint32_t>(w.rank() * w.size()) * tokens_per_pair;
  for (rank_t dest = 0; dest < w.size(); ++dest) {
    for (std::uint32_t i = 0; i < tokens_per_pair; ++i) message.send(dest, token{number++, hops_each});
  }
}

/// What all ranks together must see if each token is handled `hops_each` + 1 times.
tally expected(const world& w, std::uint32_t hops_each) {
  tally all;
  const auto tokens = static_cast<std::uint32_t>(w.size() * w.size()) * tokens_per_pair;
  for (std::uint32_t number = 0; number < tokens; ++number) {
    for (std::uint32_t left = 0; left <= hops_each; ++left) all.add({number, left});
  }
  return all;
}

/// Runs the tokens through a message type made by `make(seen, policies...)`, with each choice of policies.
template <class Make>
void check(world& w, std::uint32_t hops_each, Make make) {
  const auto with = [&](auto... policies) {
    tally seen;
    auto message = make(seen, policies...);
    w.epoch([&] { send_tokens(w, message, hops_each); });
    const tally all = expected(w, hops_each);
    EXPECT_EQ(w.sum(seen.count), all.count);
    EXPECT_EQ(w.sum(seen.hash), all.hash);
    if (hops_each == 0) {
      EXPECT_EQ(seen.count, static_cast<std::uint64_t>(w.size()) * tokens_per_pair);
    }
  };
  with();
  with(coalesce{});
  with(coalesce{.count = 3});
}

TEST_P(handler_forms, take_references_values_and_spans) {
  run([](world& w) {
    check(w, 0, [&](tally& seen, auto... policies) {
      return w.message<token>([&seen](const token& t) { seen.add(t); }, policies...);
    });
    check(w, 0, [&](tally& seen, auto... policies) {
      return w.message<token>([&seen](token t) { seen.add(t); }, policies...);
    });
    check(w, 0, [&](tally& seen, auto... policies) {
      return w.message<token>(
          [&](std::span<const token> batch) {
            EXPECT_FALSE(batch.empty());
            EXPECT_LE(batch.size(), sizeof...(policies) == 0 ? 1u : 512u);
            for (const token& t : batch) seen.add(t);
          },
          policies...);
    });
  });
}

TEST_P(handler_forms, take_them_and_self) {
  run([](world& w) {
    check(w, hops, [&](tally& seen, auto... policies) {
      return w.message<token>(
          [&](const token& t, auto& self) {
            seen.add(t);
            if (t.hops > 0) self.send(next_of(w), token{t.number, t.hops - 1});
          },
          policies...);
    });
    check(w, hops, [&](tally& seen, auto... policies) {
      return w.message<token>(
          [&](token t, auto& self) {
            seen.add(t);
            if (t.hops-- > 0) self.send(next_of(w), t);
          },
          policies...);
    });
    check(w, hops, [&](tally& seen, auto... policies) {
      return w.message<token>(
          [&](std::span<const token> batch, auto& self) {
            for (const token& t : batch) {
              seen.add(t);
              if (t.hops > 0) self.send(next_of(w), token{t.number, t.hops - 1});
            }
          },
          policies...);
    });
  });
}

// A message may be sent on as it lies in its packet.
TEST_P(handler_forms, forwards_what_it_was_given) {
  run([](world& w) {
    check(w, 0, [&](tally& seen, auto... policies) {
      return w.message<token>(
          [&](const token& t, auto& self) {
            if (w.rank() == static_cast<rank_t>(t.number) % w.size()) {
              seen.add(t);
            } else {
              self.send(next_of(w), t);
            }
          },
          policies...);
    });
  });
}

/// A handler with a name, that counts its own calls.
struct counter {
  std::uint64_t& count;
  std::uint64_t own = 0;

  void operator()(const token&) { count = ++own; }
};

class handler_objects : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, handler_objects, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

TEST_P(handler_objects, may_be_of_any_kind) {
  run([](world& w) {
    const std::uint64_t each = static_cast<std::uint64_t>(w.size()) * tokens_per_pair;
    std::uint64_t named = 0, wrapped = 0, generic = 0;
    auto owned = std::make_unique<std::uint64_t>(0);
    std::uint64_t* const moved = owned.get();
    auto of_named_type = w.message<token>(counter{named}, coalesce{});
    auto of_function = w.message<token>(std::function<void(const token&)>([&](const token&) { ++wrapped; }));
    auto of_generic_lambda = w.message<token>([&](const auto& t) { generic += sizeof t == sizeof(token); }, coalesce{});
    auto of_moved_lambda = w.message<token>([owned = std::move(owned)](token) mutable { ++*owned; });
    auto of_pointer = w.message<token>(
        +[](const token&) {}, coalesce{});
    w.epoch([&] {
      send_tokens(w, of_named_type, 0);
      send_tokens(w, of_function, 0);
      send_tokens(w, of_generic_lambda, 0);
      send_tokens(w, of_moved_lambda, 0);
      send_tokens(w, of_pointer, 0);
    });
    EXPECT_EQ(named, each);
    EXPECT_EQ(wrapped, each);
    EXPECT_EQ(generic, each);
    EXPECT_EQ(*moved, each);
    EXPECT_EQ(w.endpoint().counts().of(of_pointer.id(), 0).handled, tokens_per_pair);
  });
}

}  // namespace
}  // namespace amity
