/// A distributed hash table that counts keys. Ranks insert into the memory of other ranks by compare_and_swap, and the
/// owners of slots do nothing.

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "amity/amity.hpp"
#include "apps/windows/command_line.hpp"

namespace amity::apps::windows {
namespace {

/// Open addressing with linear probing inside the memory of one rank. Key 0 marks a free slot.
class hash_table {
 public:
  /// Collective.
  hash_table(world& w, std::size_t slots_per_rank)
      : slots_(slots_per_rank),
        ranks_(static_cast<std::uint64_t>(w.size())),
        keys_(w.allocate_window<std::uint64_t>(slots_per_rank, {.name = "keys"})),
        counts_(w.allocate_window<std::uint64_t>(slots_per_rank, {.name = "counts"})) {}

  /// Inserts may begin on all ranks after a barrier.
  void begin_inserts() {
    keys_.lock_all();
    counts_.lock_all();
  }
  /// Returns when the inserts of this rank have been carried out.
  void end_inserts() {
    keys_.unlock_all();
    counts_.unlock_all();
  }

  /// Adds 1 to the count of the key.
  void insert(std::uint64_t key) {
    const std::uint64_t hash = key * 0x9e3779b97f4a7c15u;
    const auto owner = static_cast<rank_t>((hash >> 32) % ranks_);
    std::size_t slot = hash % slots_;
    for (std::size_t probe = 0; probe < slots_; ++probe) {
      std::uint64_t found = 0;
      keys_.compare_and_swap(owner, slot, 0, key, found);
      keys_.flush(owner);
      if (found == 0 || found == key) return counts_.accumulate(accumulate_op::sum, owner, slot, 1);
      slot = (slot + 1) % slots_;
    }
    throw std::runtime_error("the hash table is full; increase --slots");
  }

  /// Keys and counts in the memory of this rank.
  std::span<const std::uint64_t> local_keys() const { return keys_.local(); }
  std::span<const std::uint64_t> local_counts() const { return counts_.local(); }

 private:
  std::size_t slots_;
  std::uint64_t ranks_;
  window<std::uint64_t> keys_;
  window<std::uint64_t> counts_;
};

/// The keys that a rank inserts: few are frequent.
std::vector<std::uint64_t> keys_of(rank_t rank, std::size_t count, std::uint64_t keys) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
  std::vector<std::uint64_t> made(count);
  for (std::uint64_t& each : made) each = 1 + std::min(random() % keys, random() % keys);
  return made;
}

int insert_all(world& w, std::size_t inserts, std::uint64_t keys, std::size_t slots) {
  hash_table table(w, slots);
  table.begin_inserts();
  for (const std::uint64_t key : keys_of(w.rank(), inserts, keys)) table.insert(key);
  table.end_inserts();
  w.barrier();

  std::unordered_map<std::uint64_t, std::uint64_t> expected;
  for (rank_t rank = 0; rank < w.size(); ++rank) {
    for (const std::uint64_t key : keys_of(rank, inserts, keys)) ++expected[key];
  }
  std::uint64_t errors = 0, found = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    const std::uint64_t key = table.local_keys()[i];
    if (key == 0) continue;
    ++found;
    errors += expected[key] != table.local_counts()[i];
  }
  errors += w.sum(found) != expected.size();  // no key is missing or stands in two slots
  const std::uint64_t total = inserts * static_cast<std::uint64_t>(w.size());
  return report(w, std::to_string(total) + " inserts of " + std::to_string(expected.size()) + " keys", errors);
}

}  // namespace
}  // namespace amity::apps::windows

int main(int argc, char** argv) {
  using namespace amity::apps::windows;
  std::size_t inserts = 10'000, slots = 4096;
  std::uint64_t keys = 2000;
  CLI::App options("Counts keys in a distributed hash table.");
  options.add_option("--inserts", inserts, "inserts per rank")->capture_default_str();
  options.add_option("--keys", keys, "number of different keys")->check(CLI::PositiveNumber)->capture_default_str();
  options.add_option("--slots", slots, "slots of the table per rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (const auto status = parse(options, argc, argv)) return *status;
  return amity::run(argc, argv, [&](amity::world& w) { return insert_all(w, inserts, keys, slots); });
}
