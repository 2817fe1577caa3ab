#include "amity/fabric/ofi/remote.hpp"

#include <rdma/fi_errno.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/key_bytes.hpp"
#include "amity/fabric/ofi/provider.hpp"

namespace amity::fabric::ofi {
namespace {

/// Operations of a rank that are under way.
constexpr std::size_t operations_max = 256;
/// Notifications that wait to be polled; the provider keeps the others.
constexpr std::size_t notifications_max = 1024;

fi_op to_provider(atomic_op op) noexcept {
  switch (op) {
    case atomic_op::fetch:
      return FI_ATOMIC_READ;
    case atomic_op::swap:
      return FI_ATOMIC_WRITE;
    case atomic_op::compare_swap:
      return FI_CSWAP;
    case atomic_op::add:
      return FI_SUM;
    case atomic_op::bit_and:
      return FI_BAND;
    case atomic_op::bit_or:
      return FI_BOR;
    case atomic_op::bit_xor:
      return FI_BXOR;
  }
  AMITY_ASSERT(false, static_cast<int>(op));
  return FI_ATOMIC_READ;
}

fi_datatype type_of(const atomic_request& what) noexcept { return what.bytes == 8 ? FI_UINT64 : FI_UINT32; }

std::uint64_t first_word(const packet_tag& token) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, token.data(), sizeof word);
  return word;
}

std::byte* line_in(const zeroed_memory& memory) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<std::byte*>((address + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes);
}

}  // namespace

remote_capabilities remote_capabilities_of(const fi_info& info, std::size_t packet_bytes) {
  // A provider that does not choose the keys itself must have space for a random one.
  const bool usable = (info.caps & FI_RMA) != 0 && ((info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0 ||
                                                    info.domain_attr->mr_key_size >= sizeof(std::uint64_t));
  if (!usable) return {};
  remote_capabilities found{.available = true,
                            .mapped = false,
                            .unattended = false,
                            .puts_before_packets = (info.tx_attr->msg_order & FI_ORDER_SAW) != 0,
                            .atomics = (info.caps & FI_ATOMIC) != 0,
                            .notify_bits = info.domain_attr->cq_data_size >= 4 ? 32u : 0u,
                            .operations_max = operations_max};
  // A second message's system calls cost as much as copying so many bytes that the target has not in its cache.
  constexpr std::size_t worth_a_message = 16 << 10;
  if (goes_through_sockets(info)) {
    found.packed_bytes_max = std::min(packet_bytes, worth_a_message);
    // Software carries out the target's part, when the target next polls.
    found.woken_bytes_max = found.packed_bytes_max;
  }
  return found;
}

/// How the bytes of a key begin.
struct remote::key_fields {
  std::uint64_t check;
  std::uint64_t base;
  std::uint64_t key;
  std::uint64_t bytes;
  std::uint64_t address;   ///< of the memory, in its owner
  std::uint64_t attached;  ///< whether it is memory of the program
};

remote::remote(port& open, const sodium& crypto, const job_key& key, rank_t rank,
               const std::vector<fi_addr_t>& addresses, loss& lost)
    : port_(open),
      rank_(rank),
      addresses_(addresses),
      lost_(lost),
      operations_(operations_max),
      free_(operations_max),
      told_(2 * operations_max + notifications_max) {
  if (requires_registration(port_.info())) local_.emplace(port_, operations_max);
  for (std::uint32_t i = 0; i < operations_max; ++i) {
    free_.push(i);
    operation& each = operations_[i];
    each.index = i;
    each.words = local_ ? new (local_->slot(i).data) atomic_words : &each.own_words;
  }
  for (std::size_t peer = 0; peer < addresses.size(); ++peer) {
    tokens_.push_back({.segment = first_word(token_of(crypto, key, token_purpose::segment, peer)),
                       .notification = first_word(token_of(crypto, key, token_purpose::notification, peer))});
  }
}

/// Detects keys of other ranks and jobs, and keys that were changed by mistake.
std::uint64_t remote::check_of(const key_fields& fields, rank_t owner) const noexcept {
  std::uint64_t hash = tokens_[static_cast<std::size_t>(owner)].segment;
  for (const std::uint64_t word : {fields.base, fields.key, fields.bytes, fields.address, fields.attached}) {
    hash = splitmix64::mix(hash ^ word);
  }
  return hash;
}

/// The upper half shows that a rank of this job has sent it to this one.
std::uint64_t remote::notification(rank_t to, std::uint32_t bits) const noexcept {
  if (port_.info().domain_attr->cq_data_size < 8) return bits;
  return (tokens_[static_cast<std::size_t>(to)].notification & 0xffff'ffff'0000'0000) | bits;
}

// ---- segments

segment remote::create(std::size_t bytes) {
  const auto refuse = [&](std::string_view why, const char* remedy) {
    throw error("making a segment", rank_, fmt::format("{} bytes: {}", bytes, why), remedy);
  };
  if (bytes == 0) refuse("a segment has at least one byte", "ask for what is needed");
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) refuse("there is no such memory", "ask for less");
  try {
    zeroed_memory memory(bytes + cache_line_bytes);
    std::byte* const data = line_in(memory);
    return offer(data, bytes, std::move(memory));
  } catch (const std::bad_alloc&) {
    refuse("there is no such memory", "ask for less");
    throw;
  }
}

// Registered memory is locked, which a limit may forbid: packets need no registration.
std::optional<segment> remote::attach(mutable_bytes memory) try {
  return offer(memory.data(), memory.size(), std::nullopt);
} catch (const error&) {
  return std::nullopt;
}

// Several segments may have the same memory, and then one key if the provider chooses the keys.
segment remote::offer(std::byte* data, std::size_t bytes, std::optional<zeroed_memory> memory) {
  const auto refuse = [&](std::string_view why, const char* remedy) {
    throw error("making a segment", rank_, fmt::format("{} bytes: {}", bytes, why), remedy);
  };
  std::uint64_t wanted = 0;
  if (::getrandom(&wanted, sizeof wanted, 0) != sizeof wanted) refuse("no random key", "use another fabric");
  fid_mr* registered = nullptr;
  std::uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
  if (local_) access |= FI_READ | FI_WRITE;
  const int status = fi_mr_reg(port_.domain(), data, bytes, access, 0, wanted, 0, &registered, nullptr);
  if (status != 0) refuse(port_.reason(-status), "ask for less (ulimit -l bounds locked memory)");
  local_segment made{.memory = std::move(memory), .registered = owned<fid_mr>(registered)};
  const auto address = reinterpret_cast<std::uint64_t>(data);
  key_fields fields{.check = 0,
                    .base = (port_.info().domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? address : 0,
                    .key = fi_mr_key(registered),
                    .bytes = bytes,
                    .address = address,
                    .attached = made.memory ? 0u : 1u};
  fields.check = check_of(fields, rank_);
  // The memory of the program may outlive the segment, and operations from there with it.
  if (local_ && made.memory) local_->add_segment({data, bytes}, fi_mr_desc(registered));
  made_.emplace(fields.check, std::move(made));
  return {.data = data, .bytes = bytes, .key = key_from(fields)};
}

void remote::destroy(const segment& own) noexcept {
  const auto found = made_.find(fields_of<key_fields>(own.key).check);
  if (found == made_.end()) return;
  if (local_ && found->second.memory) local_->remove_segment(own.data);
  made_.erase(found);
}

remote_handle remote::open(rank_t owner, const segment_key& key) {
  const key_fields fields = fields_of<key_fields>(key);
  if (fields.check != check_of(fields, owner)) {
    throw error("opening a segment", rank_, fmt::format("the key is none of rank {} in this job", owner),
                "hand the key of a segment, as it is, from its owner to those who open it");
  }
  const opened_segment found{.owner = owner,
                             .base = fields.base,
                             .key = fields.key,
                             .own = owner == rank_ ? reinterpret_cast<std::byte*>(fields.address) : nullptr};
  if (closed_.empty()) {
    closed_.push_back(opened_.size());
    opened_.emplace_back();
  }
  const std::uint64_t id = closed_.back();
  closed_.pop_back();
  opened_[id] = found;
  return {.direct = nullptr, .bytes = fields.bytes, .id = id, .atomics = fields.attached == 0};
}

void remote::close(const remote_handle& opened) noexcept { closed_.push_back(opened.id); }

// ---- operations

remote::operation* remote::begin(rank_t peer, const events& tell) noexcept {
  if (free_.empty()) {
    refused_ = true;
    return nullptr;
  }
  operation& made = operations_[free_.front()];
  free_.pop();
  made.tell = tell;
  made.peer = peer;
  made.previous = nullptr;
  return &made;
}

stage remote::begun(operation* made, ssize_t status, std::size_t unregistered_bytes) noexcept {
  if (status == 0) return stage::accepted;
  if (local_) local_->release(made->index);
  free_.push(made->index);
  refused_ = true;
  if (status != -FI_EAGAIN && lost_.peer == no_rank) {
    lost_ = {.peer = made->peer,
             .reason = static_cast<int>(-status),
             .in_its_memory = unregistered_bytes == 0,
             .unregistered_bytes = unregistered_bytes};
  }
  return stage::refused;
}

stage remote::write(const opened_segment& to, std::size_t offset, bytes_view from, const events& tell,
                    std::uint64_t flags, std::uint64_t data) noexcept {
  operation* const made = begin(to.owner, tell);
  if (made == nullptr) return stage::refused;
  local_memory::place source{.data = const_cast<std::byte*>(from.data())};
  if (local_) {
    const int status = local_->begin_put(made->index, from, source);
    if (status != 0) return begun(made, status, from.size());
    if (source.is_copied) made->tell.source_free = 0;
  }
  const iovec local{.iov_base = source.data, .iov_len = from.size()};
  const fi_rma_iov there{.addr = to.base + offset, .len = from.size(), .key = to.key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.iov_count = 1;
  message.desc = local_ ? &source.descriptor : nullptr;
  message.addr = addresses_[static_cast<std::size_t>(to.owner)];
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &made->context;
  message.data = data;
  // A source that is free is all that is asked for otherwise: for more, providers over TCP have the target answer.
  flags |= FI_COMPLETION | (tell.complete != 0 ? FI_DELIVERY_COMPLETE : FI_INJECT_COMPLETE);
  const stage reached = begun(made, fi_writemsg(port_.endpoint(), &message, flags));
  return reached == stage::accepted && source.is_copied ? stage::source_free : reached;
}

stage remote::start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept {
  const opened_segment& there = at(to);
  if (from.empty()) return stage::complete;
  if (there.own == nullptr) return write(there, offset, from, tell, 0, 0);
  copy_bytes(there.own + offset, from.data(), from.size());
  return stage::complete;
}

stage remote::put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                         std::uint64_t when_free) noexcept {
  const opened_segment& there = at(to);
  if (there.own == nullptr) {
    return write(there, offset, from, {.source_free = when_free}, FI_REMOTE_CQ_DATA, notification(there.owner, bits));
  }
  if (!has_room_for(operations_max)) {
    refused_ = true;
    return stage::refused;
  }
  copy_bytes(there.own + offset, from.data(), from.size());
  told_.push({.value = bits, .is_notification = true});
  return stage::complete;
}

stage remote::start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                        std::uint64_t when_complete) noexcept {
  const opened_segment& there = at(from);
  if (to.empty()) return stage::complete;
  if (there.own != nullptr) {
    copy_bytes(to.data(), there.own + offset, to.size());
    return stage::complete;
  }
  operation* const made = begin(there.owner, {.source_free = 0, .complete = when_complete});
  if (made == nullptr) return stage::refused;
  local_memory::place result{.data = to.data()};
  if (local_) {
    const int status = local_->begin_get(made->index, to, result);
    if (status != 0) return begun(made, status, to.size());
  }
  return begun(
      made, fi_read(port_.endpoint(), result.data, to.size(), result.descriptor,
                    addresses_[static_cast<std::size_t>(there.owner)], there.base + offset, there.key, &made->context));
}

stage remote::start_atomic(const remote_handle& at_segment, std::size_t offset, const atomic_request& what,
                           std::uint64_t* previous, std::uint64_t when_complete) noexcept {
  const opened_segment& there = at(at_segment);
  if (there.own != nullptr) {
    const std::uint64_t before = apply_atomic(what, there.own + offset);
    if (previous != nullptr) *previous = before;
    return stage::complete;
  }
  operation* const made = begin(there.owner, {.source_free = 0, .complete = when_complete});
  if (made == nullptr) return stage::refused;
  made->previous = previous;
  // The lower half comes first, so a word of four bytes finds its own.
  atomic_words& words = *made->words;
  words = {.operand = what.operand, .expected = what.expected};
  void* const descriptor = local_ ? local_->slot(made->index).descriptor : nullptr;
  const fi_addr_t peer = addresses_[static_cast<std::size_t>(there.owner)];
  const std::uint64_t place = there.base + offset;
  fid_ep* const endpoint = port_.endpoint();
  if (what.op == atomic_op::compare_swap) {
    return begun(made,
                 fi_compare_atomic(endpoint, &words.operand, 1, descriptor, &words.expected, descriptor, &words.result,
                                   descriptor, peer, place, there.key, type_of(what), FI_CSWAP, &made->context));
  }
  return begun(made, fi_fetch_atomic(endpoint, &words.operand, 1, descriptor, &words.result, descriptor, peer, place,
                                     there.key, type_of(what), to_provider(what.op), &made->context));
}

bool remote::has_atomics() noexcept {
  for (const fi_datatype type : {FI_UINT32, FI_UINT64}) {
    fi_atomic_attr found{};
    for (const fi_op op : {FI_ATOMIC_READ, FI_ATOMIC_WRITE, FI_SUM, FI_BAND, FI_BOR, FI_BXOR}) {
      if (fi_query_atomic(port_.domain(), type, op, &found, FI_FETCH_ATOMIC) != 0) return false;
    }
    if (fi_query_atomic(port_.domain(), type, FI_CSWAP, &found, FI_COMPARE_ATOMIC) != 0) return false;
  }
  return true;
}

// ---- completions

bool remote::owns(const void* context) const noexcept {
  return context >= operations_.data() && context < operations_.data() + operations_.size();
}

void remote::tell(std::uint64_t context) noexcept {
  if (context != 0) told_.push({.value = context, .is_notification = false});
}

void remote::take_completion(void* context) noexcept {
  auto* const done = static_cast<operation*>(context);
  if (local_) local_->complete(done->index);
  if (done->previous != nullptr) *done->previous = done->words->result;
  tell(done->tell.source_free);
  tell(done->tell.complete);
  free_.push(done->index);
}

void remote::take_failure(void* context, int reason) noexcept {
  auto* const failed = static_cast<operation*>(context);
  if (local_) local_->release(failed->index);
  free_.push(failed->index);
  if (lost_.peer == no_rank) lost_ = {.peer = failed->peer, .reason = reason, .in_its_memory = true};
}

void remote::take_notification(std::uint64_t data) noexcept {
  const auto bits = static_cast<std::uint32_t>(data);
  if (data != notification(rank_, bits) || !has_segments()) {
    ++notifications_refused_;
    return;
  }
  told_.push({.value = bits, .is_notification = true});
}

std::size_t remote::hand_over(sink& receiver, std::size_t events_max) {
  std::size_t handed_over = 0;
  for (; handed_over < events_max && !told_.empty(); ++handed_over) {
    const event next = told_.front();
    told_.pop();
    if (next.is_notification) {
      receiver.on_notify(static_cast<std::uint32_t>(next.value));
    } else {
      receiver.on_done(next.value);
    }
  }
  return handed_over;
}

}  // namespace amity::fabric::ofi
