/// A counter in the memory of rank 0 that all ranks increment: under an exclusive lock, or by an atomic operation.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/windows/command_line.hpp"

namespace amity::apps::windows {
namespace {

std::uint64_t increment_locked(window<std::uint64_t>& counter) {
  std::uint64_t value = 0;
  counter.lock(lock_kind::exclusive, 0);
  counter.get(0, 0, value);
  counter.flush(0);  // `value` is valid now
  counter.put(0, 0, value + 1);
  counter.unlock(0);
  return value;
}

std::uint64_t increment_atomic(window<std::uint64_t>& counter) {
  std::uint64_t value = 0;
  counter.fetch_and_op(accumulate_op::sum, 0, 0, 1, value);
  counter.flush(0);
  return value;
}

int count(world& w, const std::string& method, std::uint64_t increments) {
  auto counter = w.allocate_window<std::uint64_t>(w.rank() == 0 ? 1 : 0, {.name = "counter"});
  std::vector<std::uint64_t> tickets;
  w.barrier();
  const auto begin = std::chrono::steady_clock::now();
  if (method == "lock") {
    for (std::uint64_t i = 0; i < increments; ++i) tickets.push_back(increment_locked(counter));
  } else {
    counter.lock_all();
    for (std::uint64_t i = 0; i < increments; ++i) tickets.push_back(increment_atomic(counter));
    counter.unlock_all();
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  w.barrier();

  // Each value is taken once: on a rank they increase, and on all ranks they have the sum of 0 to total - 1.
  const std::uint64_t total = increments * static_cast<std::uint64_t>(w.size());
  std::uint64_t errors = 0, sum = 0;
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    sum += tickets[i];
    errors += tickets[i] >= total || (i > 0 && tickets[i] <= tickets[i - 1]);
  }
  errors += w.sum(sum) != total * (total - 1) / 2;
  errors += w.rank() == 0 && counter.local()[0] != total;
  if (w.rank() == 0 && increments > 0)
    std::printf("%.2f us per increment on rank 0\n", time.count() / static_cast<double>(increments));
  return report(w, std::to_string(total) + " increments by " + method, errors);
}

}  // namespace
}  // namespace amity::apps::windows

int main(int argc, char** argv) {
  using namespace amity::apps::windows;
  std::string method = "lock";
  std::uint64_t increments = 1000;
  CLI::App options("Increments one counter on all ranks.");
  options.add_option("--method", method, "how a rank increments it")
      ->check(CLI::IsMember({"lock", "atomic"}))
      ->capture_default_str();
  options.add_option("--increments", increments, "increments per rank")
      ->check(CLI::Range(1u, 1u << 30))
      ->capture_default_str();
  if (const auto status = parse(options, argc, argv)) return *status;
  return amity::run(argc, argv, [&](amity::world& w) { return count(w, method, increments); });
}
