/// One large value with a codec, from one rank to another.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// GB/s of `values` values of type T that `make` makes, each of `bytes` bytes. `send` sends one to rank 1.
template <class T, class Make, class Send>
double gb_per_s(world& w, int values, std::uint64_t bytes, const Make& make, const Send& send) {
  std::uint64_t elements = 0;
  auto message = w.message<T>([&](const T& value) { elements += value.size(); });
  T value;
  if (w.rank() == 0) value = make();
  const std::uint64_t expected = static_cast<std::uint64_t>(values) * value.size();
  const double seconds = 1e-9 * median_of(values, [&] {
                           T own;
                           if (w.rank() == 0) own = value;
                           return wall_ns([&] {
                             w.epoch([&] {
                               if (w.rank() == 0) send(message, own);
                             });
                           });
                         });
  expect_equal("elements", w.sum(elements), w.sum(expected));
  return static_cast<double>(bytes) / w.max(seconds) * 1e-9;
}

sample measure_ranks(world& w, const job_context& job) {
  const auto bytes = job.scaled<std::uint64_t>(256 * mib, mib);
  const int values = job.scaled(5, 2);
  using numbers = std::vector<double>;
  using texts = std::vector<std::string>;
  const auto make_numbers = [&] { return numbers(bytes / sizeof(double), 0.5); };
  const auto make_texts = [&] { return texts(bytes / 100, std::string(100, 't')); };
  const auto copied = [](auto& message, const auto& value) { message.send(1, value); };
  const auto moved = [](auto& message, auto& value) { message.send(1, std::move(value)); };
  return {
      {"numbers_gb_per_s", gb_per_s<numbers>(w, values, bytes, make_numbers, copied)},
      {"moved_gb_per_s", gb_per_s<numbers>(w, values, bytes, make_numbers, moved)},
      {"texts_gb_per_s", gb_per_s<texts>(w, values, bytes, make_texts, copied)},
  };
}

void drive(driver& d) {
  const contest jobs{d.ranks(2)};
  d.compare(jobs, {
                      {"vector of doubles", "rate", "GB/s", "numbers_gb_per_s", "", "", {at_least(1)}},
                      {"vector of doubles, moved", "rate", "GB/s", "moved_gb_per_s", "", "", {at_least(1)}},
                      {"vector of strings of 100 B", "rate", "GB/s", "texts_gb_per_s", "", "", {}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark large_values{"large_values", "one large value with a codec to another rank", drive, measure};

}  // namespace amity::bench
