#pragma once

/// The part of `checked` that stands in front of remote memory.
///
/// It gives handles of its own, without a direct address. It knows the operations whose events are awaited, and a
/// checksum of what their sources held. What it cannot see: a fabric that loses data, or notifies before it is there.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "amity/fabric/handle_table.hpp"

namespace amity::fabric {

class checked;

class checked_memory final : public remote_memory {
 public:
  checked_memory(checked& whole, remote_memory& inner) : whole_(whole), inner_(inner) {}

  segment create(std::size_t bytes) override;
  std::optional<segment> attach(mutable_bytes memory) override;
  void destroy(const segment& own) noexcept override;
  remote_handle open(rank_t owner, const segment_key& key) override;
  void close(const remote_handle& opened) noexcept override;
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override;

  // For `checked`.

  /// What the caller gave as the context of the event that has come.
  std::uint64_t inspect_done(std::uint64_t context);
  void inspect_notification() const;
  void check_end() const;

 private:
  /// An operation whose caller awaits an event.
  struct operation {
    rank_t peer;
    events tell;        ///< what is left of what the caller asked for
    bytes_view source;  ///< of a put, until it is free
    std::uint64_t checksum;
  };

  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override;
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override;
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override;

  const handle_table::entry& check(std::string_view call, const remote_handle& at, std::size_t offset,
                                   std::size_t bytes, const void* local) const;
  template <class Start>
  stage start(std::string_view call, const handle_table::entry& at, bytes_view source, const events& tell,
              Start&& begin);
  void check_source(const operation& of) const;

  checked& whole_;
  remote_memory& inner_;
  handle_table handles_;
  std::vector<segment> segments_;
  bool offers_ = false;  ///< has ever made a segment
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, operation> operations_;  ///< by number
};

}  // namespace amity::fabric
