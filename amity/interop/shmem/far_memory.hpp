#pragma once

/// Memory of PEs on other nodes, which is not mapped: operations on it are records, and the PE that they are for
/// carries them out.
///
/// - What one PE does in the memory of another one is carried out in the order of the calls. So a flag comes after what
///   was put before it, and an answer proves that all before the question is done.
/// - Atomics are those of the machine where they are carried out, as those of PEs on the same node are.
/// - Records are collected in a packet until `send` or `finish_gets`, with which each call of the library ends.
/// - Nothing here runs code of the program. A PE carries out operations of its peers whenever it waits.
///
/// For several threads at once if the engine is serialized. A failure ends the process.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/function_ref.hpp"
#include "amity/base/types.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/event.hpp"
#include "amity/core/memory_records.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/fabric/remote_memory.hpp"
#include "amity/interop/shmem/process.hpp"

namespace amity::shmem {

class far_memory final : private core::record_memory, private immovable {
 public:
  /// `on` must outlive it.
  explicit far_memory(core::engine& on);

  /// Gathers `own` of all PEs into `all`, in the order of PEs. Collective, once, before any other call. Throws as
  /// `engine::progress` does.
  void exchange(bytes_view own, mutable_bytes all);

  // Symmetric addresses are those of this PE. The job ends if not all of `bytes` is symmetric.

  /// Copies. Threads that read an aligned word see it whole. `by`: whether `quiet` waits for it.
  void put(const char* call, void* dest, const void* source, std::size_t bytes, int pe,
           core::tracking by = core::tracking::by_flush);
  void atomic(const char* call, void* at, const fabric::atomic_request& what, int pe);
  /// Sends what was collected for a PE.
  void send(int pe);
  void send_all();

  /// Waits. Returns what was there before, widened with zeros.
  std::uint64_t fetch(const char* call, void* at, const fabric::atomic_request& what, int pe);
  void get(const char* call, void* dest, const void* source, std::size_t bytes, int pe);
  /// A get that is complete after `quiet` or `finish_gets`.
  void begin_get(const char* call, void* dest, const void* source, std::size_t bytes, int pe);
  void finish_gets();

  /// Waits until all operations of this PE have been carried out.
  void quiet() { quiet_but(no_rank); }
  /// As `quiet`, except for operations on the memory of one PE: they come before what that PE hears next.
  void quiet_but(int excepted);

  /// Carries out what has arrived. Returns whether there was anything; false if another thread does it.
  bool poll();
  /// Looks whether the job has ended, unless another thread uses the engine.
  void check();

 private:
  /// What addresses in records are relative to, since the addresses of PEs differ.
  enum class object : std::uint8_t { heap, statics, exchanged };
  /// A get or fetch that a thread waits for.
  struct answer final : core::awaited {
    void reached() noexcept override { there.store(true, std::memory_order_release); }
    std::atomic<bool> there = false;
  };
  /// Gets that no thread waits for.
  struct gets final : core::awaited {
    void reached() noexcept override { under_way.fetch_sub(1, std::memory_order_release); }
    std::atomic<std::size_t> under_way = 0;
  };

  static core::record_address address_of(const char* call, const void* address, std::size_t bytes, int pe);
  static core::record_address word_at(const char* call, const void* address, std::size_t bytes, int pe);
  std::byte* place_of(rank_t source, std::uint32_t object, std::uint64_t offset, std::uint64_t bytes) const override;
  void on_notice(rank_t source, std::uint64_t number) override;
  /// Calls `attempt()` inside the engine until it returns true. Runs no handlers meanwhile: a message may be half sent.
  void append(int pe, function_ref<bool()> attempt);
  /// `attempt` appends the record that asks; `told` is reached when `to` has the answer.
  void ask(int pe, mutable_bytes to, core::awaited& told, function_ref<bool(std::uint32_t question)> attempt);
  void await(const char* call, const answer& told, int pe);

  core::engine& engine_;
  core::record_stream& stream_;
  core::memory_records records_;
  gets gets_;
  mutable_bytes exchanged_;
  std::size_t arrived_ = 0;       ///< parts of `exchanged_`
  std::uint32_t idle_polls_ = 0;  ///< in a row
};

}  // namespace amity::shmem
