#include "amity/window/window_peers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "amity/core/segment_records.hpp"

namespace amity::detail {
namespace {

void describe(window_peer& member, const window_description& about) noexcept {
  member.number = about.number;
  member.bytes = about.bytes;
  member.data_offset = about.data_offset;
}

}  // namespace

window_peers::window_peers(core::endpoint& in, window_service& service, direct_access& direct,
                           const core::group& members, rank_t target_thread, window_target& own,
                           window_identity identity, window_origin& origin)
    : endpoint_(in),
      service_(service),
      direct_(direct),
      members_(members),
      target_thread_(target_thread),
      own_(own),
      identity_(identity),
      origin_(origin) {}

window_peers::~window_peers() {
  for (window_peer* const each : all_) {
    if (each->gets != nullptr) service_.gets().forget(*each->gets);
  }
  if (endpoint_.own_engine().failure().exists()) return;
  core::memory& memory = endpoint_.memory();
  for (window_peer* const each : all_) {
    if (each->opened_data) memory.close(each->data_segment);
    if (each->control_segment.lane != no_rank) memory.close(each->control_segment);
  }
}

window_peer& window_peers::meet(rank_t member) {
  auto met = std::make_unique<window_peer>(member, members_.lane(member, target_thread_));
  if (const std::optional<window_description> known = neighbors_.find(member)) {
    window_peer& added = add(std::move(met), *known);
    open_direct(added);
    return added;
  }
  window_description about{};
  origin_.ask_description(*met, about);
  window_peer* const known = find(member);  // another thread has asked, too
  return known != nullptr ? *known : add(std::move(met), about);
}

void window_peers::add_own(rank_t member, const window_description& about, control_block* control, std::byte* base) {
  auto own = std::make_unique<window_peer>(member, members_.lane(member, target_thread_));
  describe(*own, about);
  own->control = control;
  own->base = base;
  own->is_mapped = true;
  if (own->lane != endpoint_.own_engine().transport().rank()) own->accumulates = &control->accumulates;
  all_.push_back(own.get());
  by_member_[member] = std::move(own);
}

void window_peers::meet_node(const window_description& own) {
  fabric::fabric& transport = endpoint_.own_engine().transport();
  window_description about = own;
  if (const fabric::remote_memory* const memory = transport.remote()) {
    about.control.key = memory->key_on_node(own.control.key);
    about.data.key = memory->key_on_node(own.data.key);
  }
  const std::vector<std::byte> content = neighbors::encode(about);
  const core::record what{.owner = core::record_owner::windows,
                          .act = static_cast<std::uint8_t>(window_act::introduce),
                          .bytes = static_cast<std::uint32_t>(content.size()),
                          .at = static_cast<std::uint64_t>(identity_)};
  std::size_t on_node = 0;
  for (rank_t member = 0; member < members_.size(); ++member) {
    if (find(member) != nullptr || !transport.same_node(members_.lane(member))) continue;
    service_.send(members_.lane(member), what, content);
    ++on_node;
  }
  endpoint_.wait_until(window_origin::wait_for_description,
                       [&] { return neighbors_.size() == on_node && service_.sent(); });
  neighbors_.close();
}

bool window_peers::note_introduction(rank_t member, bytes_view content) { return neighbors_.add(member, content); }

bool window_peers::use_neighbors() {
  neighbors_.for_each([this](rank_t member) {
    const rank_t lane = members_.lane(member, target_thread_);
    if (find(member) == nullptr) add(std::make_unique<window_peer>(member, lane), *neighbors_.find(member));
  });
  return std::ssize(all_) == members_.size() &&
         std::ranges::all_of(all_, [](const window_peer* each) { return each->control != nullptr; });
}

// The system may refuse to map memory, for example if the process has as many mappings as it may have.
window_peer& window_peers::add(std::unique_ptr<window_peer> met, const window_description& about) {
  core::memory& memory = endpoint_.memory();
  window_peer& with = *met;
  describe(with, about);
  with.control_segment = memory.open(about.control);
  if (std::byte* const mapped = with.control_segment.handle.direct; mapped != nullptr) {
    with.control = reinterpret_cast<control_block*>(mapped + about.control_offset);
    with.accumulates = &with.control->accumulates;
  }
  if (about.bytes > 0 && about.data.lane != no_rank) {
    try {
      with.data_segment = memory.open(about.data);
    } catch (...) {
      memory.close(with.control_segment);
      throw;
    }
    with.opened_data = true;
  } else if (about.bytes > 0) {
    with.data_segment = with.control_segment;
  }
  all_.push_back(&with);
  by_member_[with.member] = std::move(met);
  if (about.bytes == 0) return with;
  if (std::byte* const direct = with.data_segment.handle.direct; direct != nullptr)
    map_data(with, direct + about.data_offset);
  if (own_.transfers() != nullptr && needs_progress(with))
    with.transfers = &own_.add_transfers(with.opened_data ? about.data : about.control);
  return with;
}

void window_peers::open_direct(window_peer& of) {
  if (!of.is_mapped || of.base == nullptr) return;  // in a dynamic window offsets are addresses
  const bool has_threads = endpoint_.own_engine().lock() != nullptr;
  const bool have_moved =
      !direct_.targets.add(of.member, of.base, of.bytes, has_threads ? &of.control->accumulates : of.accumulates);
  of.direct = direct_.targets.find(of.member);
  if (!have_moved) return;
  for (window_peer* const each : all_) {
    if (each->direct != nullptr) each->direct = direct_.targets.find(each->member);
  }
}

bool window_peers::needs_progress(const window_peer& of) const noexcept {
  const fabric::remote_handle& memory = of.data_segment.handle;
  if (!permits_direct(origin_.protocol()) || memory.direct != nullptr) return false;
  return core::segment_records::reach(memory) || !endpoint_.own_engine().transport().remote_to(of.lane).unattended;
}

void window_peers::map_data(window_peer& of, std::byte* data) const noexcept {
  of.base = data;
  of.is_mapped = permits_direct(origin_.protocol()) && of.control != nullptr;  // whose words exclude accumulates
}

mutable_bytes window_peers::place_consecutively(rank_t own) {
  std::byte* next = own == 0 ? find(own)->base : find(0)->control_segment.handle.direct;
  for (rank_t member = 0; member < members_.size(); ++member) {
    window_peer& each = *find(member);
    each.data_segment = {};  // that is memory of member 0
    if (member == own) {
      each.base = next;
    } else {
      map_data(each, next);
    }
    next += each.bytes;
  }
  return {find(own)->base, find(own)->bytes};
}

}  // namespace amity::detail
