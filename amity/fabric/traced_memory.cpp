#include "amity/fabric/traced_memory.hpp"

#include "amity/base/assert.hpp"
#include "amity/fabric/traced.hpp"

namespace amity::fabric {

const handle_table::entry& traced_memory::known(const remote_handle& opened) const noexcept {
  const handle_table::entry* const entry = handles_.find(opened);
  AMITY_ASSERT(entry != nullptr, opened.id);
  return *entry;
}

void traced_memory::close(const remote_handle& opened) noexcept {
  inner_.close(known(opened).inner);
  handles_.close(opened);
}

stage traced_memory::start_put(const remote_handle& to, std::size_t offset, bytes_view from,
                               const events& tell) noexcept {
  const auto& [inner, owner] = known(to);
  return whole_.count(owner, &traced::peer_counts::puts, &traced::peer_counts::bytes_put, from.size(),
                      inner_.put(inner, offset, from, tell));
}

stage traced_memory::put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                                std::uint64_t when_free) noexcept {
  const auto& [inner, owner] = known(to);
  return whole_.count(owner, &traced::peer_counts::puts, &traced::peer_counts::bytes_put, from.size(),
                      inner_.put_notify(inner, offset, from, bits, when_free));
}

stage traced_memory::start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                               std::uint64_t when_complete) noexcept {
  const auto& [inner, owner] = known(from);
  return whole_.count(owner, &traced::peer_counts::gets, &traced::peer_counts::bytes_got, to.size(),
                      inner_.get(inner, offset, to, when_complete));
}

stage traced_memory::start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what,
                                  std::uint64_t* previous, std::uint64_t when_complete) noexcept {
  const auto& [inner, owner] = known(at);
  return whole_.count(owner, &traced::peer_counts::atomics, nullptr, what.bytes,
                      inner_.atomic(inner, offset, what, previous, when_complete));
}

}  // namespace amity::fabric
