#include "amity/interop/shmem/far_memory.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/interop/shmem/job.hpp"

namespace amity::shmem {
namespace {

using entry = core::engine::entry;

/// After as many polls without an arrival a PE looks whether the job still runs.
constexpr std::uint32_t idle_polls_per_look = 1024;

/// Calls the engine. The API has no way to report a failure to the program.
template <class Call>
auto or_end(Call&& call) {
  try {
    return call();
  } catch (const job_aborted&) {
    // The PE that has ended the job reports why, and its status. The launcher should see that first.
    std::this_thread::sleep_for(std::chrono::seconds(1));
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "%s\n", mistake.what());
    self.joined->abort();
  }
  std::fflush(nullptr);
  ::_exit(1);
}

}  // namespace

far_memory::far_memory(core::engine& on)
    : engine_(on),
      stream_(on.served().records()),
      records_(on, stream_, core::record_owner::openshmem, fabric::claim::ordinary, *this) {}

void far_memory::exchange(bytes_view own, mutable_bytes all) {
  const entry alone(engine_);
  const rank_t me = engine_.rank(), pes = engine_.transport().size();
  constexpr std::uint64_t wait_ns = 100'000'000;
  const auto progress = [this] {
    if (!engine_.progress()) engine_.wait_in_fabric(wait_ns, wait_ns);
  };
  const std::size_t offset = static_cast<std::size_t>(me) * own.size();
  exchanged_ = all;
  std::memcpy(all.data() + offset, own.data(), own.size());
  for (rank_t pe = 0; pe < pes; ++pe) {
    if (pe == me) continue;
    std::size_t moved = 0;
    const auto index = static_cast<std::uint32_t>(object::exchanged);
    while (!records_.put_notify({.target = pe, .object = index, .offset = offset}, own, moved, 0)) progress();
    stream_.send(pe);
  }
  while (arrived_ + 1 < static_cast<std::size_t>(pes)) progress();
  exchanged_ = {};
}

// At the PE that asks

core::record_address far_memory::address_of(const char* call, const void* address, std::size_t bytes, int pe) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const bool heap = self.heap.holds(first);
  if (!heap && !self.statics.holds(first)) fail_address(call, address);
  const extent& memory = heap ? self.heap : self.statics;
  if (bytes > memory.bytes_from(address)) fail_length(call, address, bytes);
  return {.target = pe,
          .object = static_cast<std::uint32_t>(heap ? object::heap : object::statics),
          .offset = first - memory.first};
}

core::record_address far_memory::word_at(const char* call, const void* address, std::size_t bytes, int pe) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    fail(call, fmt::format("the address {} is not a multiple of {}", address, bytes).c_str(),
         "use atomics on variables that are aligned to their size");
  }
  return address_of(call, address, bytes, pe);
}

void far_memory::append(int pe, function_ref<bool()> attempt) {
  self.joined->wait_without_handlers(
      [&] {
        const entry alone(engine_);
        return attempt();
      },
      [&] { return fmt::format("a call that sends: PE {} is to take what it was sent before", pe); });
}

void far_memory::put(const char* call, void* dest, const void* source, std::size_t bytes, int pe, core::tracking by) {
  const core::record_address to = address_of(call, dest, bytes, pe);
  const bytes_view from{static_cast<const std::byte*>(source), bytes};
  std::size_t moved = 0;
  append(pe, [&] { return records_.put(to, from, moved, by); });
}

void far_memory::atomic(const char* call, void* address, const fabric::atomic_request& what, int pe) {
  const core::record_address at = word_at(call, address, what.bytes, pe);
  append(pe, [&] { return records_.atomic(at, what); });
}

void far_memory::send(int pe) {
  const entry alone(engine_);
  stream_.send(pe);
}

void far_memory::send_all() {
  const entry alone(engine_);
  for (int pe = 0; pe < self.pes; ++pe) stream_.send(pe);
}

void far_memory::ask(int pe, mutable_bytes to, core::awaited& told,
                     function_ref<bool(std::uint32_t question)> attempt) {
  std::optional<std::uint32_t> question;
  append(pe, [&] {
    if (!question) question = stream_.try_expect(pe, to, told);
    if (!question) send_all();  // those before it may be in open packets
    return question && attempt(*question);
  });
}

void far_memory::await(const char* call, const answer& told, int pe) {
  send(pe);
  // Acquire; pairs with the release in answer::reached().
  self.joined->wait([&] { return told.there.load(std::memory_order_acquire); },
                    [&] { return fmt::format("{}: PE {} is to answer", call, pe); });
}

std::uint64_t far_memory::fetch(const char* call, void* address, const fabric::atomic_request& what, int pe) {
  const core::record_address at = word_at(call, address, what.bytes, pe);
  std::uint64_t before = 0;
  answer told;
  ask(pe, {reinterpret_cast<std::byte*>(&before), sizeof before}, told,
      [&](std::uint32_t question) { return records_.atomic(at, what, question); });
  await(call, told, pe);
  return before;
}

void far_memory::get(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  const core::record_address from = address_of(call, source, bytes, pe);
  answer told;
  std::size_t moved = 0;
  ask(pe, {static_cast<std::byte*>(dest), bytes}, told,
      [&](std::uint32_t question) { return records_.get(from, bytes, moved, question); });
  await(call, told, pe);
}

void far_memory::begin_get(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  const core::record_address from = address_of(call, source, bytes, pe);
  gets_.under_way.fetch_add(1, std::memory_order_relaxed);
  std::size_t moved = 0;
  ask(pe, {static_cast<std::byte*>(dest), bytes}, gets_,
      [&](std::uint32_t question) { return records_.get(from, bytes, moved, question); });
}

void far_memory::finish_gets() {
  send_all();
  self.joined->wait([&] { return gets_.under_way.load(std::memory_order_acquire) == 0; },
                    [] { return "the end of shmem_get_nbi or the like: other PEs are to answer"; });
}

void far_memory::quiet_but(int excepted) {
  {
    const entry alone(engine_);
    stream_.flush_all(excepted);
  }
  self.joined->wait(
      [&] {
        const entry alone(engine_, std::try_to_lock);
        return alone.entered() && stream_.flushed();
      },
      [] { return "a quiet, or a barrier: other PEs are to carry out what this one has sent"; });
  finish_gets();
}

// At the PE whose memory it is

std::byte* far_memory::place_of(rank_t source, std::uint32_t which, std::uint64_t offset, std::uint64_t bytes) const {
  const auto in = [&](std::uintptr_t first, std::size_t length) {
    if (offset > length || bytes > length - offset) {
      throw engine_.invalid_packet(
          source, fmt::format("{} bytes at offset {} of symmetric memory of {} bytes", bytes, offset, length));
    }
    return reinterpret_cast<std::byte*>(first + offset);
  };
  switch (static_cast<object>(which)) {
    case object::heap:
      return in(self.heap.first, self.heap.bytes);
    case object::statics:
      return in(self.statics.first, self.statics.bytes);
    case object::exchanged:
      return in(reinterpret_cast<std::uintptr_t>(exchanged_.data()), exchanged_.size());
  }
  throw engine_.invalid_packet(source, fmt::format("symmetric memory {}", which));
}

void far_memory::on_notice(rank_t, std::uint64_t) { ++arrived_; }

bool far_memory::poll() {
  const entry alone(engine_, std::try_to_lock);
  if (!alone.entered()) return false;
  return or_end([this] {
    const bool any = engine_.progress();
    idle_polls_ = any ? 0 : idle_polls_ + 1;
    if (idle_polls_ % idle_polls_per_look == idle_polls_per_look - 1) {
      engine_.check_job();
      engine_.transport().publish();
    }
    return any;
  });
}

void far_memory::check() {
  const entry alone(engine_, std::try_to_lock);
  if (alone.entered()) or_end([this] { engine_.check_job(); });
}

}  // namespace amity::shmem
