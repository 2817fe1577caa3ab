#include "amity/interop/shmem/job.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <fmt/format.h>

#include "amity/base/cpu.hpp"
#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/interop/shmem/heap_size.hpp"
#include "amity/interop/shmem/statics.hpp"
#include "amity/world/bootstrap/starter.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/transport.hpp"

namespace amity::shmem {
namespace {

/// What each PE tells the others about its memory.
struct card {
  fabric::segment_key key;
  std::uint64_t statics_bytes;
  std::uint64_t heap_bytes;
  std::uint64_t heap_at;  ///< in the segment
};

class card_box final : public fabric::sink {
 public:
  explicit card_box(std::size_t pes) : cards_(pes) {}

  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override {
    AMITY_ASSERT(arrived.payload.size() == sizeof(card), arrived.payload.size());
    std::memcpy(&cards_[static_cast<std::size_t>(arrived.source)], arrived.payload.data(), sizeof(card));
    ++arrivals_;
    return fabric::disposition::release;
  }
  bool complete() const noexcept { return arrivals_ == cards_.size(); }
  const card& of(std::size_t pe) const noexcept { return cards_[pe]; }

 private:
  std::vector<card> cards_;
  std::size_t arrivals_ = 0;
};

job::place join() {
  const settings config = settings::from_environment();
  if (!detail::ranks_are_processes(config.text("AMITY_FABRIC"))) {
    throw error("shmem_init", no_rank,
                fmt::format("AMITY_FABRIC={} is no fabric for OpenSHMEM, whose PEs are processes that share memory",
                            config.text("AMITY_FABRIC")),
                "unset AMITY_FABRIC");
  }
  if (detail::find_starter(config) == detail::starter::nobody) {
    detail::refuse_to_be_one_of_many();
    if (config.integer("AMITY_RANKS") > 1) {
      // The program's own arguments are nobody else's to keep.
      std::ifstream line("/proc/self/cmdline", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(line), {}};
      std::vector<const char*> words;
      for (std::size_t at = 0; at < text.size(); at += std::strlen(&text[at]) + 1) words.push_back(&text[at]);
      std::fflush(nullptr);
      ::_exit(self_launch(config, static_cast<int>(words.size()), words.data()));
    }
  }
  const detail::connection by = detail::connect(config);
  return {.lane = detail::join_job(config, by, 1), .cpus = detail::cpus_here(config, by)};
}

std::size_t page_round(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// What the library takes for itself, beside what the program asked for.
std::size_t own_bytes(int pes) {
  return page_round(static_cast<std::size_t>(pes) * (am_engine<node_substrate>::bytes_per_peer + 256) + 4096);
}

/// Whether this node has more PEs than CPUs for them.
bool is_crowded(const fabric::fabric& transport, int cpus) {
  int pes_here = 0;
  for (rank_t pe = 0; pe < transport.size(); ++pe) pes_here += transport.same_node(pe) ? 1 : 0;
  return pes_here > cpus;
}

}  // namespace

job::job(bool threads)
    : place_(join()),
      transport_(place_.lane->enter(0)),
      heap_(page_round(heap_bytes_wanted()) + own_bytes(transport_->size())) {
  const auto heap_bytes = page_round(heap_bytes_wanted()) + own_bytes(transport_->size());
  fabric::remote_memory* const memory = transport_->remote();
  if (memory == nullptr || !transport_->caps().remote.mapped) {
    throw error("shmem_init", transport_->rank(),
                fmt::format("the fabric {} does not map peers' memory", transport_->caps().name),
                "start the PEs on one node, over AMITY_FABRIC=shm");
  }
  const extent statics = find_statics();
  own_ = memory->create(statics.bytes + heap_bytes + symmetric_heap::alignment_max);
  replace_statics(statics, own_.data);
  // Segments begin anywhere, heaps where an offset is as well aligned as its address.
  const std::uintptr_t behind_statics = reinterpret_cast<std::uintptr_t>(own_.data) + statics.bytes;
  const std::uintptr_t heap =
      (behind_statics + symmetric_heap::alignment_max - 1) & ~(symmetric_heap::alignment_max - 1);

  const auto pes = static_cast<std::size_t>(transport_->size());
  distances_.resize(pes);
  sent_.resize(pes);
  awaited_.resize(pes);
  self.me = transport_->rank();
  self.statics = statics;
  self.heap = {.first = heap, .bytes = heap_bytes};
  meet_peers(statics.bytes);
  self.peers = distances_.data();
  self.pes = transport_->size();
  crowded_ = is_crowded(*transport_, place_.cpus);
  patience_ = crowded_ ? 20 : 4000;

  arrivals_ = static_cast<arrival*>(share(pes * sizeof(arrival)));
  ended_ = static_cast<std::uint64_t*>(share(sizeof *ended_));
  offer_ = static_cast<std::uint64_t*>(share(sizeof *offer_));
  for (int pe = 0; pe < self.pes; ++pe) peers_arrivals_.push_back(reach("shmem_init", arrivals_ + self.me, pe));
  self.joined = this;  // the substrate of active messages takes memory through it
  messages_ = std::make_unique<am_engine<node_substrate>>();
  const bool helped = settings::from_environment().integer("AMITY_SHMEM_PROGRESS_THREAD") != 0;
  if (threads || helped) messages_->threads().require();
  if (!helped) return;
  progress_.emplace([this] {
    const auto entered = messages_->threads().try_enter();
    return entered.owns_lock() && messages_->poll();
  });
}

job::~job() {
  progress_.reset();
  // The segments stay: the program's static variables are in one of them, and may be read still.
  for (const auto& each : opened_) transport_->remote()->close(each);
  self.joined = nullptr;
  self.pes = 0;
  self.now = phase::after;
}

void job::meet_peers(std::size_t statics_bytes) {
  fabric::remote_memory& memory = *transport_->remote();
  const int pes = transport_->size();
  const card mine{.key = own_.key,
                  .statics_bytes = statics_bytes,
                  .heap_bytes = self.heap.bytes,
                  .heap_at = self.heap.first - reinterpret_cast<std::uintptr_t>(own_.data)};
  card_box box(static_cast<std::size_t>(pes));
  for (int told = 0; told < pes || !box.complete();) {
    const bool sent = told < pes && transport_->try_send(told, 0, std::as_bytes(std::span(&mine, 1))) == status::ok;
    if (sent) ++told;
    if (transport_->poll(box, 64) == 0 && !sent) transport_->wait(100'000'000);
  }
  for (int pe = 0; pe < pes; ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    const card& its = box.of(index);
    if (its.statics_bytes != statics_bytes || its.heap_bytes != self.heap.bytes) {
      throw error("shmem_init", self.me,
                  fmt::format("the symmetric memory of PE {} is laid out otherwise: {} bytes of static variables and a "
                              "heap of {}, here {} and {}",
                              pe, its.statics_bytes, its.heap_bytes, statics_bytes, self.heap.bytes),
                  "start the same program as all PEs, with the same SHMEM_SYMMETRIC_SIZE");
    }
    opened_.push_back(memory.open(pe, its.key));
    // This PE's own objects keep their addresses, whatever the handle to its own segment says.
    const std::byte* const there = pe == self.me ? own_.data : opened_.back().direct;
    const auto base = reinterpret_cast<std::uintptr_t>(there);
    distances_[index] = {
        .heap = static_cast<std::ptrdiff_t>(base + its.heap_at - self.heap.first),
        .statics = pe == self.me ? 0 : static_cast<std::ptrdiff_t>(base - self.statics.first),
    };
  }
}

void* job::share(std::size_t bytes) {
  const auto offset = heap_.take(bytes);
  AMITY_ASSERT(offset.has_value(), bytes);
  return reinterpret_cast<void*>(self.heap.first + *offset);
}

void job::pause(unsigned round) {
  leave_if_ended();
  if (round < patience_) {
    cpu_pause();
  } else {
    ::sched_yield();
  }
}

void job::end_successfully() {
  for (int pe = 0; pe < self.pes; ++pe) {
    std::atomic_ref(*reach("shmem_global_exit", ended_, pe)).store(1, std::memory_order_relaxed);
  }
  leave_ended_job();
}

void job::abort() noexcept {
  if (!is_ending_.exchange(true)) transport_->abort();
}

void job::leave_ended_job() {
  while (is_ending_.exchange(true)) ::pause();  // another thread is on its way out
  std::fflush(nullptr);
  // Other threads may be anywhere, this one in a handler: all that they may touch stays until the process ends.
  transport_.reset();
  ::_exit(0);
}

}  // namespace amity::shmem
