#pragma once

/// Remote memory through libfabric: segments that the provider has registered, and operations on them.
///
/// For trusted networks only (AMITY_OFI_SEALED=0), because the operations carry no seal. A process that cannot read the
/// traffic cannot use them: the provider's key of a segment is random, 64 bits long, and sent only by its owner, unless
/// the provider chooses its keys itself; and a notification carries half a token with its bits if the provider has
/// space for it.

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_rma.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "amity/base/zeros.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/ofi/bounded_queue.hpp"
#include "amity/fabric/ofi/local_memory.hpp"
#include "amity/fabric/ofi/port.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::ofi {

/// A peer that cannot be reached any more, and libfabric's number for why.
struct loss {
  rank_t peer = no_rank;
  int reason = 0;
  bool in_its_memory = false;          ///< an operation there has failed: the peer may be well, and a segment gone
  bool with_its_host = false;          ///< the host does not answer; any of its ranks may be meant
  std::size_t unregistered_bytes = 0;  ///< or memory of this rank, of so many bytes, cannot be registered to reach it
};

/// What the provider can do, as far as its description tells.
remote_capabilities remote_capabilities_of(const fi_info& info, std::size_t packet_bytes);

class remote final : public remote_memory {
 public:
  /// All outlive it but the key. `addresses`: by rank.
  remote(port& open, const sodium& crypto, const job_key& key, rank_t rank, const std::vector<fi_addr_t>& addresses,
         loss& lost);

  segment create(std::size_t bytes) override;
  std::optional<segment> attach(mutable_bytes memory) override;
  void destroy(const segment& own) noexcept override;
  remote_handle open(rank_t owner, const segment_key& key) override;
  void close(const remote_handle& opened) noexcept override;
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override;

  // For the fabric, whose completion queue it is.

  /// Whether the provider does all atomics; its description promises more than it keeps.
  bool has_atomics() noexcept;

  bool owns(const void* context) const noexcept;
  void take_completion(void* context) noexcept;
  void take_failure(void* context, int reason) noexcept;
  void take_notification(std::uint64_t data) noexcept;
  std::uint64_t notifications_refused() const noexcept { return notifications_refused_; }

  /// Whether no operation is under way.
  bool is_idle() const noexcept { return free_.room() == 0; }

  /// Whether peers may be writing to memory of this rank.
  bool has_segments() const noexcept { return !made_.empty(); }

  /// Whether there is room for the events of `completions` more.
  bool has_room_for(std::size_t completions) const noexcept { return told_.room() >= 2 * completions; }
  bool has_events() const noexcept { return !told_.empty(); }
  std::size_t hand_over(sink& receiver, std::size_t events_max);
  void forget_events() noexcept {
    while (!told_.empty()) told_.pop();
  }

  /// Whether an operation was refused since the last call of this.
  bool was_refused() noexcept { return std::exchange(refused_, false); }

 protected:
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override;
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override;
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override;

 private:
  struct key_fields;
  struct local_segment {
    std::optional<zeroed_memory> memory;  ///< null: that of the program
    owned<fid_mr> registered;
  };
  struct opened_segment {
    rank_t owner = no_rank;
    std::uint64_t base = 0;  ///< what the provider counts offsets from
    std::uint64_t key = 0;
    std::byte* own = nullptr;  ///< memory of this rank
  };
  struct tokens {
    std::uint64_t segment;       ///< of the rank that owns it
    std::uint64_t notification;  ///< to the rank
  };
  struct atomic_words {
    std::uint64_t operand = 0, expected = 0, result = 0;
  };
  static_assert(sizeof(atomic_words) <= local_memory::bounce_bytes);

  /// One that is under way. The provider knows it by the address of its first member.
  struct operation {
    fi_context2 context{};
    events tell;
    rank_t peer = no_rank;
    std::uint32_t index = 0;
    std::uint64_t* previous = nullptr;
    atomic_words* words = nullptr;  ///< its own, or where the provider can use them
    atomic_words own_words;
  };
  struct event {
    std::uint64_t value;
    bool is_notification;
  };

  segment offer(std::byte* data, std::size_t bytes, std::optional<zeroed_memory> memory);
  std::uint64_t check_of(const key_fields& fields, rank_t owner) const noexcept;
  std::uint64_t notification(rank_t to, std::uint32_t bits) const noexcept;
  const opened_segment& at(const remote_handle& opened) const noexcept { return opened_[opened.id]; }
  operation* begin(rank_t peer, const events& tell) noexcept;
  /// `unregistered_bytes`: of local memory, for which `status` is the result of a registration.
  stage begun(operation* made, ssize_t status, std::size_t unregistered_bytes = 0) noexcept;
  stage write(const opened_segment& to, std::size_t offset, bytes_view from, const events& tell, std::uint64_t flags,
              std::uint64_t data) noexcept;
  void tell(std::uint64_t context) noexcept;

  port& port_;
  std::vector<tokens> tokens_;  ///< by rank
  rank_t rank_;
  const std::vector<fi_addr_t>& addresses_;
  loss& lost_;
  std::optional<local_memory> local_;  ///< null: the provider accepts any memory
  std::vector<operation> operations_;
  bounded_queue<std::uint32_t> free_;
  bounded_queue<event> told_;
  std::multimap<std::uint64_t, local_segment> made_;  ///< by the checksum in their key
  std::vector<opened_segment> opened_;                ///< by id
  std::vector<std::uint64_t> closed_;                 ///< ids that may be used again
  std::uint64_t notifications_refused_ = 0;
  bool refused_ = false;
};

}  // namespace amity::fabric::ofi
