/// What arrives: the world that a packet belongs to, whether it waits, and the handler that runs for it.

#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/invalid_packet.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity::core {
namespace {

// Whether a fragment belongs to a stream.
template <class Packet>
bool is_piece(const Packet& fragment) {
  const std::optional<fragment_header> head = header_of_fragment(fragment.payload);
  return head && (head->message & incoming_streams::mark) != 0;
}

}  // namespace

inline fabric::disposition endpoint::on_packet(const fabric::packet& arrived) noexcept {
  const packet_header header(arrived.header);
  if (header.epoch() != no_epoch && header.epoch() != open_epoch_) {
    collectives_.note_rank_ahead(rank_of(source_of(arrived)));
    // Detector packets may have taken the reserve, and must not hold it.
    const bool copied = header.kind() == packet_kind::detector;
    engine_->not_due().keep_early(arrived, copied ? inbox::storage::copy : inbox::storage::fabric);
    return copied ? fabric::disposition::release : fabric::disposition::keep;
  }
  if (priorities_differ_ && keep_for_later(arrived, header)) return fabric::disposition::keep;
  deliver(arrived);
  return fabric::disposition::release;
}

fabric::disposition engine::on_packet(const fabric::packet& arrived) noexcept {
  if (is_of_job_world(arrived.header) && job_world_ != nullptr) [[likely]]
    return job_world_->on_packet(arrived);
  return on_other_packet(arrived);
}

fabric::disposition engine::on_other_packet(const fabric::packet& arrived) noexcept {
  const packet_header header(arrived.header);
  if (header.kind() != packet_kind::service) {
    const world_number number = world_of(arrived.header);
    endpoint* const owner = find(number);
    if (owner != nullptr && owner->lane_in_world(arrived.source) != no_rank) [[likely]]
      return owner->on_packet(arrived);
    failure_.set(std::make_exception_ptr(
        owner == nullptr ? no_such_world(rank(), arrived.source / threads_, number)
                         : invalid_packet(arrived.source, fmt::format("it is not a member of world {}", number))));
    return fabric::disposition::release;
  }
  if (failure_.exists()) return fabric::disposition::release;
  try {
    if (header.handler() != static_cast<handler_id>(service::wake)) return services_.on_packet(arrived);
    has_questions_ |= questions_.on_packet(arrived.source, arrived.payload);
  } catch (...) {
    failure_.set(std::current_exception());
  }
  return fabric::disposition::release;
}

fabric::disposition endpoint::on_due(const fabric::packet& arrived, bool copied) noexcept {
  if (priorities_differ_ && !copied && keep_for_later(arrived, packet_header(arrived.header)))
    return fabric::disposition::keep;
  deliver(arrived);
  return fabric::disposition::release;
}

inline rank_t endpoint::source_of(const fabric::packet& arrived) const noexcept {
  return lane_in_world(arrived.source);
}

int endpoint::priority_of(packet_header header) const noexcept {
  return registry_.contains(header.handler()) ? registry_.at(header.handler()).priority : 0;
}

bool endpoint::keep_for_later(const fabric::packet& arrived, packet_header header) {
  if (header.kind() != packet_kind::message && header.kind() != packet_kind::fragment) return false;
  const int priority = priority_of(header);
  if (priority == priority_max_) return false;
  // Pieces that run no handler are consumed at once: pieces that overtake them would have to be copied.
  if (header.kind() == packet_kind::fragment && is_piece(arrived) &&
      !streams_.completes(source_of(arrived), arrived.payload))
    return false;
  return engine_->not_due().keep_behind(arrived, priority, engine_->transport());
}

void endpoint::deliver(const fabric::packet& arrived) noexcept {
  if (engine_->failure().exists()) return;  // the job is lost; packets are only cleared away
  try {
    const packet_header header(arrived.header);
    const inbound packet{
        .source = source_of(arrived), .args = header.args(), .payload = arrived.payload, .reply = header.reply()};
    switch (header.kind()) {
      case packet_kind::message:
        deliver_message(header, packet);
        return;
      case packet_kind::fragment:
        deliver_fragment(header, packet);
        return;
      case packet_kind::collective:
        ++control_packets_;
        if (packet.payload.size() == handler_tables::packet_bytes) [[unlikely]]
          return tables_.on_packet(rank_, rank_of(packet.source), packet.payload, registry_);
        collectives_.on_packet(rank_of(packet.source), packet.payload);
        return;
      case packet_kind::detector:
        if (control_ == nullptr) throw invalid_packet(packet.source, "one of a detector");
        ++control_packets_;
        control_->on_control(packet.source, packet.payload);
        return;
      case packet_kind::envelope:
        return engine_->served().memory().receiver.on_envelope(*this, header, arrived);
      case packet_kind::service:
        break;
    }
    throw invalid_packet(packet.source, fmt::format("packet kind {}", static_cast<int>(header.kind())));
  } catch (...) {
    fail(std::current_exception());
  }
}

error endpoint::invalid_packet(rank_t source, std::string_view content) const {
  return core::invalid_packet(rank_, rank_of(source), content);
}

void endpoint::note_color(packet_header header) {
  // Its sender has recorded at most twice more often than this rank, or less often by any number: colors are modulo
  // 256, and a message may be under way for many waves.
  const auto ahead = static_cast<wave_color>(header.color() - color_);
  if (header.epoch() == no_epoch || depth_ != any_depth || ahead == 0 || ahead > 2) return;
  control_->on_newer_color(header.color());
}

void endpoint::deliver_message(packet_header header, const inbound& packet) {
  note_color(header);
  run_handler(header, packet);
}

void endpoint::deliver_fragment(packet_header header, const inbound& packet) {
  note_color(header);
  if (is_piece(packet)) return deliver_piece(header, packet);
  std::optional<reassembly::message> whole;
  try {
    whole = reassembly_.add(packet.source, packet.payload);
  } catch (const invalid_fragment& it) {
    throw invalid_packet(packet.source, it.content);
  } catch (const std::bad_alloc&) {
    throw_no_memory(packet);
  }
  if (whole) {
    run_handler(header, {.source = packet.source, .args = packet.args, .payload = whole->bytes, .reply = packet.reply});
  }
}

void endpoint::throw_no_memory(const inbound& fragment) const {
  throw error("message arrival", rank_,
              fmt::format("rank {} has sent {} bytes, for which there is no memory", rank_of(fragment.source),
                          split_fragment(fragment.payload).first.total),
              "send less at once, or a Long to a segment");
}

void endpoint::deliver_piece(packet_header header, const inbound& packet) {
  const registry::entry* const target = registry_.find(header.handler(), header.check());
  if (target == nullptr || target->open_stream == nullptr) [[unlikely]]
    throw_unknown_handler(header, packet.source);
  std::unique_ptr<incoming_stream> whole;
  try {
    whole = streams_.add(packet.source, header.handler(), packet.payload, target->open_stream, target->context);
  } catch (const invalid_fragment& it) {
    throw invalid_packet(packet.source, it.content);
  } catch (const std::bad_alloc&) {
    throw_no_memory(packet);
  } catch (const std::length_error&) {  // of a container
    throw_no_memory(packet);
  }
  if (!whole) return;
  registry::entry streamed;
  streamed.context = whole.get();
  streamed.deliver = [](void* stream, const inbound&) -> std::uint64_t {
    static_cast<incoming_stream*>(stream)->handle();
    return 1;
  };
  run(streamed, header, packet);
}

fabric::disposition endpoint::defer_handlers(const fabric::packet& arrived, bool& deferred) noexcept {
  const packet_header header(arrived.header);
  const packet_kind kind = header.kind();
  if (kind == packet_kind::collective || kind == packet_kind::detector ||
      (header.epoch() != no_epoch && header.epoch() != open_epoch_))
    return on_packet(arrived);
  if (kind == packet_kind::fragment) {
    const rank_t source = source_of(arrived);
    if (!(is_piece(arrived) ? streams_.completes(source, arrived.payload)
                            : reassembly_.completes(source, arrived.payload))) {
      deliver(arrived);
      return fabric::disposition::release;
    }
  }
  deferred = true;
  return engine_->not_due().keep_due(arrived);
}

void endpoint::run_handler(packet_header header, const inbound& packet) {
  const registry::entry* const target = registry_.find(header.handler(), header.check());
  if (target == nullptr) [[unlikely]]
    throw_unknown_handler(header, packet.source);
  run(*target, header, packet);
}

inline void endpoint::run(const registry::entry& target, packet_header header, const inbound& packet) {
  std::uint64_t handled = 0;
  try {
    enter_handler(header.epoch(), header.color());
    handled = engine_->attention().on() ? deliver_timed(target, packet) : target.deliver(target.context, packet);
  } catch (...) {
    leave_handler();
    note_failure(header.handler(), packet.source);
    throw;
  }
  leave_handler();
  ledger_.handled(header.handler(), packet.source, handled, header.epoch() != no_epoch);
}

void endpoint::note_failure(handler_id handler, rank_t source) {
  engine_->failure().note_place([&] {
    std::string place =
        fmt::format("in the handler of '{}' for a message of rank {}", registry_.at(handler).name, rank_of(source));
    if (number_ != 0) place += fmt::format(" in world {}", number_);
    return place;
  });
}

std::uint64_t endpoint::deliver_timed(const registry::entry& target, const inbound& packet) {
  const std::uint64_t begin_ns = fabric_.now_ns();
  const std::uint64_t handled = target.deliver(target.context, packet);
  engine_->attention().handled(fabric_.now_ns() - begin_ns);
  return handled;
}

void endpoint::enter_handler(epoch_tag epoch, wave_color color) {
  engine_->running().begin(*this);
  sending_epoch_ = epoch;
  if (depth_ != any_depth && epoch != no_epoch) enter_generation(color);
}

void endpoint::enter_generation(wave_color generation) {
  control_->on_generation(generation);
  if (generation < depth_) return;
  at_depth_ = true;
  sending_epoch_ = no_epoch;
}

void endpoint::leave_handler() noexcept {
  engine_->running().end();
  at_depth_ = false;
  sending_epoch_ = body_epoch_;
}

void endpoint::throw_unknown_handler(packet_header header, rank_t source) const {
  if (registry_.contains(header.handler())) {
    throw error("message arrival", rank_,
                fmt::format("rank {} sent a message for handler #{}, which is of another type there than '{}' here",
                            rank_of(source), header.handler(), registry_.at(header.handler()).name),
                "make the same message types, or add the same handlers, in the same order on all ranks");
  }
  throw error("message arrival", rank_,
              fmt::format("rank {} sent a message for handler #{}, which does not exist here (there are: {})",
                          rank_of(source), header.handler(), registry_.describe()),
              threads_ == 1 ? "make the same message types, or add the same handlers, in the same order on all ranks"
                            : "make the same message types, or add the same handlers, in the same order on all ranks"
                              ", and on all threads of a rank, as team::add_handler does");
}

}  // namespace amity::core
