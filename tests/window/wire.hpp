#pragma once

/// What a rank sends and receives, in the bytes of its packets, and the records of active messages in these.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/packet_header.hpp"
#include "amity/core/record.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/window/active_message.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/am_records.hpp"
#include "amity/window/record_content.hpp"
#include "amity/window/window_records.hpp"

namespace amity::testing {

struct wire_packet {
  bool is_sent;  ///< by this rank; otherwise it has received it
  rank_t peer;
  core::packet_header header;
  bytes_view payload;
};

/// Shows each packet that this rank sends or receives.
class wire final : public fabric::decorator {
 public:
  using observer = std::function<void(const wire_packet&)>;

  wire(::amity::fabric::fabric& whole, observer shown) : decorator(whole), shown_(std::move(shown)) {}

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, ::amity::fabric::claim of) noexcept override {
    const status result = decorator::try_send(dest, header, payload, of);
    if (result == status::ok) show(true, dest, header, payload);
    return result;
  }
  void commit(rank_t dest, std::uint64_t header, const ::amity::fabric::slot& filled,
              std::size_t payload_bytes) noexcept override {
    show(true, dest, header, {filled.data, payload_bytes});
    decorator::commit(dest, header, filled, payload_bytes);
  }
  std::size_t poll(::amity::fabric::sink& receiver, std::size_t packets_max) override {
    listener first(*this, receiver);
    return decorator::poll(first, packets_max);
  }

 private:
  class listener final : public ::amity::fabric::sink {
   public:
    listener(wire& to, ::amity::fabric::sink& receiver) : to_(to), receiver_(receiver) {}
    ::amity::fabric::disposition on_packet(const ::amity::fabric::packet& arrived) noexcept override {
      to_.show(false, arrived.source, arrived.header, arrived.payload);
      return receiver_.on_packet(arrived);
    }
    void on_done(std::uint64_t context) noexcept override { receiver_.on_done(context); }
    void on_notify(std::uint32_t bits) noexcept override { receiver_.on_notify(bits); }

   private:
    wire& to_;
    ::amity::fabric::sink& receiver_;
  };

  void show(bool is_sent, rank_t peer, std::uint64_t header, bytes_view payload) {
    shown_({.is_sent = is_sent, .peer = peer, .header = core::packet_header(header), .payload = payload});
  }

  observer shown_;
};

/// Counts what the active messages of this rank have needed, from packets alone. All belong to one window.
class message_traffic {
 public:
  /// Requests, and their answers, which the counters of windows do not have.
  struct request_count {
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
  };

  void see(const wire_packet& packet) {
    if (packet.header.kind() != core::packet_kind::service) return;
    const auto of = static_cast<core::service>(packet.header.handler());
    if (of == core::service::records && packet.is_sent)
      each_record(packet.peer, packet.payload, &message_traffic::on_sent);
    if (of == core::service::records && !packet.is_sent) sort(packet);
    if (of == core::service::answers && !packet.is_sent) on_answers(packet.peer, packet.payload);
  }
  /// Messages and times are 0: packets do not have them.
  am_counters counters_of(rank_t target) { return at(target).counted; }
  request_count requests_of(rank_t target) { return at(target).requests; }
  /// Units that had a head.
  std::uint64_t heads_of(rank_t target) { return at(target).heads; }

 private:
  /// As `record_stream` writes it.
  struct answer_head {
    std::uint32_t question;
    std::uint32_t bytes;  ///< the highest bit: no other part follows
    std::uint64_t at;
  };
  struct target_traffic {
    am_counters counted{};
    request_count requests{};
    std::map<std::uint32_t, std::vector<std::byte>> encoded{};  ///< descriptions, by their numbers
    std::map<std::uint32_t, bool> is_vector{};
    std::uint32_t described = detail::no_description;  ///< of the last unit
    std::uint64_t heads = 0;
    struct open_unit {
      bool is_vector;
      bool has_answer = false;
      std::uint32_t segments;
    };
    std::map<std::uint32_t, open_unit> units{};               ///< by their questions
    std::map<std::uint32_t, std::uint64_t> credit{};          ///< of each buffer
    std::map<std::uint16_t, std::vector<std::byte>> early{};  ///< packets that have overtaken others
    std::uint16_t next = 0;
  };
  using record_handler = void (message_traffic::*)(target_traffic&, const core::record&, bytes_view);

  static std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
  target_traffic& at(rank_t peer) { return targets_[peer]; }

  /// Records have the order of the numbers of their packets.
  void sort(const wire_packet& packet) {
    target_traffic& of = at(packet.peer);
    of.early[packet.header.check()].assign(packet.payload.begin(), packet.payload.end());
    for (auto next = of.early.find(of.next); next != of.early.end(); next = of.early.find(of.next)) {
      each_record(packet.peer, next->second, &message_traffic::on_received);
      of.early.erase(next);
      of.next = static_cast<std::uint16_t>((of.next + 1) & core::check_mask);
    }
  }
  void each_record(rank_t peer, bytes_view payload, record_handler handle) {
    while (!payload.empty()) {
      core::record what;
      ASSERT_TRUE(detail::take_head(payload, what));
      ASSERT_LE(in_words(what.bytes), payload.size());
      if (what.owner == core::record_owner::windows) (this->*handle)(at(peer), what, payload.first(what.bytes));
      payload = payload.subspan(in_words(what.bytes));
    }
  }

  void on_sent(target_traffic& to, const core::record& what, bytes_view content) {
    switch (detail::act_of(what)) {
      case detail::window_act::am_describe:
        return on_description(to, content);
      case detail::window_act::am_unit:
        return on_unit(to, what, content);
      case detail::window_act::am_part:
        to.counted.input_bytes += content.size();
        return;
      case detail::window_act::am_ask:
        ++to.counted.handshakes;
        ++to.requests.asked;
        return;
      case detail::window_act::am_query:
        ++to.counted.queries;
        ++to.requests.asked;
        return;
      default:
        return;
    }
  }
  static void on_description(target_traffic& to, bytes_view content) {
    detail::layout_part part{};
    ASSERT_TRUE(detail::take_head(content, part));
    std::vector<std::byte>& encoded = to.encoded[part.number];
    if (part.at == 0) encoded.clear();
    encoded.insert(encoded.end(), content.begin(), content.end());
    if (encoded.size() == part.bytes) to.is_vector[part.number] = detail::am_description::decode(encoded).is_vector();
  }
  static void on_unit(target_traffic& to, const core::record& what, bytes_view content) {
    detail::am_unit_head head{.description = to.described, .segments = 1};
    const bool has_head = (what.word_bytes & detail::same_kind_bit) == 0;
    ASSERT_TRUE(!has_head || detail::take_head(content, head));
    if (has_head) ++to.heads;
    to.described = head.description;
    const bool has_room =
        detail::names_room(static_cast<detail::am_space>(what.op)) && (what.word_bytes & detail::same_room_bit) == 0;
    detail::am_room room;
    ASSERT_TRUE(!has_room || detail::take_head(content, room));
    ++to.counted.units;
    to.counted.input_bytes += content.size();
    to.units[what.question] = {.is_vector = to.is_vector.at(head.description), .segments = head.segments};
  }

  void on_received(target_traffic& from, const core::record& what, bytes_view content) {
    switch (detail::act_of(what)) {
      case detail::window_act::am_granted:
      case detail::window_act::am_listed:
        ++from.requests.answered;
        return;
      case detail::window_act::am_credited:
        return on_credited(from, content);
      case detail::window_act::am_refused:
        return on_refused(from, content);
      default:
        return;
    }
  }
  static void on_credited(target_traffic& from, bytes_view content) {
    detail::am_credited head{};
    ASSERT_TRUE(detail::take_head(content, head));
    if (head.number != 0) ++from.requests.answered;
    for (detail::am_free each{}; detail::take_head(content, each);) from.credit[each.buffer] = each.bytes;
    from.counted.credit_bytes = 0;
    for (const auto& [buffer, bytes] : from.credit) from.counted.credit_bytes += bytes;
  }
  static void on_refused(target_traffic& from, bytes_view content) {
    detail::am_refusal refusal{};
    ASSERT_TRUE(detail::take_head(content, refusal));
    if (refusal.is_unit == 0) {
      ++from.requests.answered;
      return;
    }
    ASSERT_EQ(from.units.erase(refusal.number), 1u);
    if (refusal.why == detail::am_refusal::reason::no_room) ++from.counted.refusals;
  }

  void on_answers(rank_t peer, bytes_view payload) {
    target_traffic& from = at(peer);
    while (!payload.empty()) {
      answer_head head{};
      ASSERT_TRUE(detail::take_head(payload, head));
      const std::size_t bytes = head.bytes & ~(std::uint32_t{1} << 31);
      ASSERT_LE(in_words(bytes), payload.size());
      payload = payload.subspan(in_words(bytes));
      const auto found = from.units.find(head.question);
      if (found == from.units.end()) continue;  // of another operation
      from.counted.output_bytes += bytes;
      target_traffic::open_unit& unit = found->second;
      if (!unit.is_vector || std::exchange(unit.has_answer, true)) continue;
      from.counted.count_bytes += std::uint64_t{4} * unit.segments;
      from.counted.output_bytes -= sizeof(detail::am_vector_head) + detail::am_counts_bytes(unit.segments);
    }
  }

  std::map<rank_t, target_traffic> targets_;
};

}  // namespace amity::testing
