#include "amity/interop/shmem/job.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/base/cpu.hpp"
#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/standard_descriptors.hpp"
#include "amity/interop/shmem/remote_word.hpp"
#include "amity/interop/shmem/statics.hpp"
#include "amity/world/bootstrap/starter.hpp"
#include "amity/world/launch.hpp"
#include "amity/world/transport.hpp"

namespace amity::shmem {
namespace {

/// What each PE tells the others about its memory.
struct layout {
  fabric::segment_key key;
  std::uint64_t statics_bytes;
  std::uint64_t heap_bytes;
  std::uint64_t heap_at;  ///< in the segment
};

job::place join() {
  open_missing_standard_descriptors();
  const settings config = settings::from_environment();
  if (!detail::ranks_are_processes(config.text("AMITY_FABRIC"))) {
    throw error("shmem_init", no_rank,
                fmt::format("AMITY_FABRIC={} is no fabric for OpenSHMEM, whose PEs are processes of their own",
                            config.text("AMITY_FABRIC")),
                "unset AMITY_FABRIC, or set it to shm, ofi or composite");
  }
  for (const char* const lanes : {"AMITY_THREADS", "AMITY_PROGRESS_THREAD"}) {
    if (config.integer(lanes) == settings().integer(lanes)) continue;
    throw error("shmem_init", no_rank,
                fmt::format("{}={} is not for OpenSHMEM, whose PEs have the threads of their programs", lanes,
                            config.text(lanes)),
                "unset it; AMITY_SHMEM_PROGRESS_THREAD=1 asks for a thread that runs handlers");
  }
  if (detail::find_starter(config) == detail::starter::nobody) {
    detail::refuse_to_be_one_of_many();
    if (config.integer("AMITY_RANKS") > 1) {
      // The program's own arguments are nobody else's to keep.
      std::ifstream line("/proc/self/cmdline", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(line), {}};
      std::vector<const char*> words;
      for (std::size_t at = 0; at < text.size(); at += std::strlen(&text[at]) + 1) words.push_back(&text[at]);
      if (words.empty()) {
        throw error("shmem_init", no_rank, "the arguments of this program are not known: /proc cannot be read",
                    "mount /proc, or start the program with `amity run -n N`");
      }
      std::fflush(nullptr);
      ::_exit(self_launch(config, static_cast<int>(words.size()), words.data()));
    }
  }
  auto launcher = std::make_unique<detail::launcher_link>(config);
  const detail::connection by = detail::connect(config);
  return {
      .lane = detail::join_job(config, by, 1), .cpus = detail::cpus_here(config, by), .launcher = std::move(launcher)};
}

std::size_t page_round(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

bool has_progress_thread() { return settings::from_environment().integer("AMITY_SHMEM_PROGRESS_THREAD") != 0; }

std::uint64_t stall_seconds() {
  return static_cast<std::uint64_t>(settings::from_environment().integer("AMITY_CORE_STALL_SECONDS"));
}

/// What the library takes for itself, beside what the program asked for.
std::size_t own_bytes(int pes) {
  return page_round(static_cast<std::size_t>(pes) * (am_engine<node_substrate>::bytes_per_peer + 384) + 4096);
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
      engine_(
          *transport_, settings::from_environment(), 1,
          threads || has_progress_thread() ? core::engine::threading::serialized : core::engine::threading::trusted),
      far_(engine_),
      heap_(page_round(heap_bytes_wanted()) + own_bytes(transport_->size())) {
  const auto heap_bytes = page_round(heap_bytes_wanted()) + own_bytes(transport_->size());
  const extent statics = find_statics();
  // Segments begin anywhere, heaps where an offset is as well aligned as its address.
  const auto behind_statics = reinterpret_cast<std::uintptr_t>(take_memory(statics, heap_bytes));
  const std::uintptr_t heap = (behind_statics + heap_.alignment_max() - 1) & ~(heap_.alignment_max() - 1);

  const auto pes = static_cast<std::size_t>(transport_->size());
  peers_.resize(pes);
  sent_.resize(pes);
  awaited_.resize(pes);
  self.me = transport_->rank();
  self.statics = statics;
  self.heap = {.first = heap, .bytes = heap_bytes};
  meet_peers(statics.bytes);
  self.peers = peers_.data();
  const auto is_far = [](const peer_memory& each) { return each.heap_bytes == 0; };
  if (std::ranges::any_of(peers_, is_far)) self.far = &far_;
  self.pes = transport_->size();
  crowded_ = is_crowded(*transport_, place_.cpus);
  if (crowded_) limits_ = polling_limits::of_shared_cpu(5);  // measured with rings of four PEs on two CPUs

  arrivals_ = static_cast<arrivals*>(share(pes * sizeof(arrivals)));
  ended_ = static_cast<std::uint64_t*>(share(sizeof *ended_));
  offer_ = static_cast<std::uint64_t*>(share(sizeof *offer_));
  for (int pe = 0; pe < self.pes; ++pe) peers_arrivals_.push_back(reach("shmem_init", arrivals_ + self.me, pe));
  self.stall_ns = stall_seconds() * 1'000'000'000;
  self.joined = this;  // the substrate of active messages takes memory through it
  messages_ = std::make_unique<am_engine<node_substrate>>();
  const bool helped = has_progress_thread();
  if (threads || helped) messages_->threads().require();
  if (helped) progress_.emplace([this] { return make_progress(); });
}

job::~job() {
  progress_.reset();
  {
    const core::engine::entry alone(engine_);
    engine_.leave_fabric();
  }
  // The segments stay: the program's static variables are in one of them, and may be read still.
  for (const auto& each : opened_) transport_->remote()->close(each);
  self.far = nullptr;
  self.joined = nullptr;
  self.pes = 0;
  self.now = phase::after;
}

fabric::remote_memory* job::mapped_memory() {
  return transport_->remote_to(transport_->rank()).mapped ? transport_->remote() : nullptr;
}

std::byte* job::take_memory(const extent& statics, std::size_t heap_bytes) {
  const std::size_t bytes = heap_bytes + heap_.alignment_max();
  if (fabric::remote_memory* const memory = mapped_memory(); memory != nullptr) {
    try {
      own_ = memory->create(statics.bytes + bytes);
    } catch (const error& refused) {
      throw error(
          "shmem_init", transport_->rank(),
          fmt::format("there is no memory for a symmetric heap of {} bytes and {} bytes of static variables ({})",
                      heap_bytes, statics.bytes, refused.what()),
          "set a smaller SHMEM_SYMMETRIC_SIZE");
    }
    replace_statics(statics, own_.data);
    return own_.data + statics.bytes;
  }
  try {
    return static_cast<std::byte*>(unshared_.emplace(bytes).data());
  } catch (const std::bad_alloc&) {
    throw error("shmem_init", transport_->rank(),
                fmt::format("there is no memory for a symmetric heap of {} bytes", heap_bytes),
                "set a smaller SHMEM_SYMMETRIC_SIZE");
  }
}

void job::meet_peers(std::size_t statics_bytes) {
  fabric::remote_memory* const memory = mapped_memory();
  const layout own{.key = own_.key,
                   .statics_bytes = statics_bytes,
                   .heap_bytes = self.heap.bytes,
                   .heap_at = self.heap.first - reinterpret_cast<std::uintptr_t>(own_.data)};
  std::vector<layout> layouts(peers_.size());
  far_.exchange(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(layouts)));
  for (int pe = 0; pe < transport_->size(); ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    const layout& its = layouts[index];
    if (its.statics_bytes != statics_bytes || its.heap_bytes != self.heap.bytes) {
      throw error("shmem_init", self.me,
                  fmt::format("the symmetric memory of PE {} is laid out otherwise: {} bytes of static variables and a "
                              "heap of {}, here {} and {}",
                              pe, its.statics_bytes, its.heap_bytes, statics_bytes, self.heap.bytes),
                  "start the same program as all PEs, with the same SHMEM_SYMMETRIC_SIZE");
    }
    // This PE's own objects keep their addresses.
    if (pe == self.me) {
      peers_[index] = {.heap_bytes = self.heap.bytes, .statics_bytes = statics_bytes};
    } else if (memory != nullptr && transport_->same_node(pe)) {
      opened_.push_back(memory->open(pe, its.key));
      const auto base = reinterpret_cast<std::uintptr_t>(opened_.back().direct);
      peers_[index] = {.heap = static_cast<std::ptrdiff_t>(base + its.heap_at - self.heap.first),
                       .heap_bytes = self.heap.bytes,
                       .statics = static_cast<std::ptrdiff_t>(base - self.statics.first),
                       .statics_bytes = statics_bytes};
    }
  }
}

void* job::share(std::size_t bytes) {
  const auto offset = heap_.take(bytes);
  AMITY_ASSERT(offset.has_value(), bytes);
  return reinterpret_cast<void*>(self.heap.first + *offset);
}

std::string job::describe_meeting(const char* call, int pe) { return fmt::format("{}: PE {} is to come", call, pe); }

void job::fail_difference(const char* call, int pe, const collective_call& theirs) const {
  if (theirs.name != call_.name) {
    const auto describe = [](const collective_call& each) {
      const std::string_view name(each.name.data(), strnlen(each.name.data(), each.name.size()));
      return fmt::format("{}{}", name, name == "shmem_finalize" ? " or exit(0)" : "");
    };
    fail(call, fmt::format("PE {} is in {}, this PE in {}", pe, describe(theirs), describe(call_)).c_str(),
         "call the same collective functions in the same order on all PEs, and shmem_finalize last");
  }
  const auto differing = [&](std::string_view what, std::string_view on_peer, std::string_view here) {
    fail(call, fmt::format("the {} is {} on PE {}, and {} on this PE", what, on_peer, pe, here).c_str(),
         "pass the same one on all PEs of the call");
  };
  const auto group_of = [](const collective_call& each) {
    return fmt::format("{} PEs from {} on with stride {}", each.size, each.start, each.stride);
  };
  for (std::size_t i = 0; i < theirs.values.size(); ++i) {
    if (theirs.values[i] == call_.values[i] || argument_names_[i] == nullptr) continue;
    differing(argument_names_[i], std::to_string(theirs.values[i]), std::to_string(call_.values[i]));
  }
  differing("group of PEs", group_of(theirs), group_of(call_));
  __builtin_unreachable();
}

void job::fail_waiting_in_handler(const char* call) {
  fail(call, "it would wait inside a handler, where no other handler runs",
       "wait outside of handlers; use shmem_test inside them");
}

void job::notify_far(int pe) {
  const std::uint64_t count = sent_[static_cast<std::size_t>(pe)];
  const std::uint64_t word = notification(count);
  arrivals& own = arrivals_[self.me];
  const auto put = [&](void* dest, const void* source, std::size_t bytes) {
    far_.put("a collective call", dest, source, bytes, pe, core::tracking::otherwise);
  };
  put(&own.calls[count % 2], &call_, sizeof call_);
  put(&own.words[count % 2], &word, sizeof word);
  far_.send(pe);
}

void job::rest(bool is_patient) {
  leave_if_ended();
  // Whatever else this PE does meanwhile, which `is_patient` does not count.
  if (rests_.is_due()) far_.check();
  if (is_patient) return cpu_pause(3);
  yielder_.yield_or_doze();
  // After that `composite` looks at its network more often: this PE has the time.
  if (self.far != nullptr) far_.check();
}

void job::end_successfully() {
  is_telling_ = true;
  for (int pe = 0; pe < self.pes; ++pe) {
    change_word<store_word>("shmem_global_exit", ended_, pe, std::uint64_t{1});
  }
  place_.launcher->succeed();
  leave_ended_job();
}

void job::abort() noexcept {
  if (is_ending_.exchange(true)) return;
  // Another thread may be in the fabric, and stay there: then it is the end of this process that tells the others.
  const core::engine::entry alone(engine_, std::try_to_lock);
  if (alone.entered()) transport_->abort();
}

void job::leave_ended_job() {
  const core::engine::entry alone(engine_);     // no other thread may use the fabric until the process ends
  while (is_ending_.exchange(true)) ::pause();  // another thread is on its way out
  std::fflush(nullptr);
  far_.send_all();  // the fabric would wait at its end for packets that were begun
  // Other threads may be anywhere, this one in a handler: all that they may touch stays until the process ends.
  transport_.reset();
  ::_exit(0);
}

}  // namespace amity::shmem
