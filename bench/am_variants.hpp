#pragma once

/// How origins of active messages get space at their target: the curves of the benchmarks.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "amity/window/window.hpp"
#include "bench/am_workloads.hpp"

namespace amity::bench {

/// One way to get space beyond the system buffer. Locks are exclusive in all of them.
struct am_variant {
  std::string_view name;
  bool detects_exclusive = false;  ///< asks for a list of the target's space
  bool is_hinted = false;          ///< the origin is guaranteed all of the target's buffers
  bool adapts = false;             ///< targets keep space for active origins; lists stay valid after a flush
  bool is_never_short = false;     ///< all messages fit the system buffer
};

inline constexpr am_variant am_base{"base"};
inline constexpr am_variant am_exclusive{.name = "exclusive", .detects_exclusive = true};
inline constexpr am_variant am_hint{.name = "hint", .is_hinted = true};
inline constexpr am_variant am_adaptive{.name = "adaptive", .adapts = true};
inline constexpr am_variant am_generations{.name = "generations", .detects_exclusive = true, .adapts = true};
inline constexpr am_variant am_never_short{.name = "never short", .is_never_short = true};

/// The curves of all figures.
inline constexpr auto am_variants =
    std::to_array<am_variant>({am_base, am_exclusive, am_hint, am_adaptive, am_generations});

inline am_variant am_variant_named(std::string_view name) {
  for (const am_variant& each : am_variants)
    if (each.name == name) return each;
  throw std::runtime_error("unknown variant '" + std::string(name) + "'");
}

/// The buffers of a window. The paper has 8 KiB of system buffer and 32 MiB of user buffer.
struct am_space_options {
  std::uint64_t user_bytes = std::uint64_t{32} << 20;
  std::int64_t unit_bytes = 0;  ///< 0: the runtime decides
  bool may_detach = true;
  std::uint64_t hint_bytes = user_bytes;  ///< for this rank, in variants with a hint
};

inline constexpr std::int64_t am_system_bytes = 8192;

/// A window with the data set of a workload on each rank, and buffers on each target.
template <class Workload>
class am_window {
 public:
  using element = typename Workload::element;

  /// Collective. `target`: of this rank, or `no_rank`.
  am_window(world& w, const am_variant& variant, rank_t target, bool is_target, const am_space_options& space)
      : operation_(handlers_.add(Workload::handle)),
        guarantee_{.target = target, .bytes = space.hint_bytes},
        memory_(w.allocate_window<element>(Workload::memory, options(variant, target, space))) {
    const std::vector<element> data = Workload::data_set();
    std::ranges::copy(data, memory_.local().begin());
    if (is_target) {
      // Pages that no message touches take no memory.
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(space.user_bytes);
      memory_.attach_buffer(std::span(buffer_.get(), space.user_bytes));
    }
    w.barrier();
  }
  am_window(const am_window&) = delete;
  am_window& operator=(const am_window&) = delete;

  window<element>& memory() noexcept { return memory_; }
  void send(rank_t target, am_data<Workload>& data, std::size_t first, std::size_t segments) {
    const auto in = std::span(std::as_const(data.input)).subspan(first * Workload::inputs, segments * Workload::inputs);
    const auto out = std::span(data.output).subspan(first * Workload::outputs, segments * Workload::outputs);
    memory_.am(operation_, target, 0, Workload::memory, segments, in, out);
  }

 private:
  window_options options(const am_variant& variant, rank_t target, const am_space_options& space) {
    am_options messages{.handlers = &handlers_,
                        .may_detach = space.may_detach,
                        .system_bytes = variant.is_never_short ? std::int64_t{1} << 40 : am_system_bytes,
                        .unit_bytes = space.unit_bytes,
                        .messages_max = 1 << 20,
                        .detects_exclusive = variant.detects_exclusive,
                        .adapts = variant.adapts};
    if (variant.is_never_short && space.unit_bytes == 0) messages.unit_bytes = am_system_bytes / 2;
    if (variant.is_hinted && target != no_rank) messages.guarantees = std::span(&guarantee_, 1);
    return {.name = variant.name, .messages = messages};
  }

  am_table handlers_;
  am_operation operation_;
  am_guarantee guarantee_;
  std::unique_ptr<std::byte[]> buffer_;
  window<element> memory_;
};

/// What messages of some epochs have needed.
inline am_counters since(const am_counters& before, const am_counters& now) {
  am_counters used;
  used.messages = now.messages - before.messages;
  used.units = now.units - before.units;
  used.handshakes = now.handshakes - before.handshakes;
  used.queries = now.queries - before.queries;
  used.refusals = now.refusals - before.refusals;
  used.input_bytes = now.input_bytes - before.input_bytes;
  used.output_bytes = now.output_bytes - before.output_bytes;
  used.count_bytes = now.count_bytes - before.count_bytes;
  used.room_wait_ns = now.room_wait_ns - before.room_wait_ns;
  return used;
}

}  // namespace amity::bench
