#include "amity/core/counter_table.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace amity::core {
namespace {

void add_to(handler_counts& sum, const handler_counts& added) noexcept {
  sum.all.sent += added.all.sent;
  sum.all.handled += added.all.handled;
  sum.packets.count += added.packets.count;
  sum.packets.bytes += added.packets.bytes;
}

// The thread that counts uses plain additions: an atomic store after a load takes two more instructions per counter and
// message. Reading an aligned word during them is one load on all processors that amity supports, and nothing depends
// on the order of these reads, so the thread sanitizer need not see them.
[[gnu::noinline, gnu::no_sanitize("thread")]] handler_counts read_while_counting(
    const handler_counts& counts) noexcept {
  const volatile handler_counts& now = counts;
  return {.all = {.sent = now.all.sent, .handled = now.all.handled},
          .packets = {.count = now.packets.count, .bytes = now.packets.bytes}};
}

}  // namespace

handler_counts counter_table::type::counts() const noexcept {
  handler_counts sum = removed_;
  for (const handler_counts* const each : counting_) add_to(sum, read_while_counting(*each));
  return sum;
}

void counter_table::add(std::string_view name, ledger& counts, handler_id id) {
  const std::lock_guard lock(mutex_);
  auto at =
      std::ranges::lower_bound(entries_, name, {}, [](const entry& each) -> std::string_view { return each.name; });
  if (at == entries_.end() || at->name != name) at = entries_.insert(at, {std::string(name), {}, {}});
  at->handlers.push_back({&counts, id});
  // Readers use the former memory until the new one is published.
  const ledger::former_rows former = counts.add_handler(id);
  publish();
}

void counter_table::remove(const ledger& counts, handler_id id) noexcept {
  remove_if([&](const handler& each) { return each.counts == &counts && each.id == id; });
}

void counter_table::remove(const ledger& counts) noexcept {
  remove_if([&](const handler& each) { return each.counts == &counts; });
}

template <class Matches>
void counter_table::remove_if(Matches matches) noexcept {
  const std::lock_guard lock(mutex_);
  for (entry& each : entries_) {
    std::erase_if(each.handlers, [&](const handler& candidate) {
      if (!matches(candidate)) return false;
      add_to(each.removed, candidate.counts->counts_of(candidate.id));
      return true;
    });
  }
  publish();
}

// Without memory, signals show nothing.
void counter_table::publish() noexcept try {
  auto now = std::make_unique<std::vector<type>>();
  for (const entry& each : entries_) {
    std::vector<const handler_counts*> counting;
    for (const handler& one : each.handlers) counting.push_back(&one.counts->counts_of(one.id));
    now->emplace_back(each.name, each.removed, std::move(counting));
  }
  types_.replace(std::move(now));
} catch (const std::bad_alloc&) {
  types_.replace(nullptr);
}

}  // namespace amity::core
