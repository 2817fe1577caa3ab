/// The fabric ofi when others than ranks reach its port.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/base/file_descriptor.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/ofi/gate.hpp"
#include "amity/fabric/ofi/port.hpp"
#include "mailbox.hpp"
#include "ofi_pair.hpp"
#include "tests/support/errors.hpp"

namespace amity::fabric::testing {
namespace {

/// The TCP ports on which this process listens on the loopback device.
std::vector<sockaddr_in> listening_places() {
  std::vector<sockaddr_in> found;
  for (int fd = 3; fd < 256; ++fd) {
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
    sockaddr_in place{};
    bytes = sizeof place;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&place), &bytes) == 0 && place.sin_family == AF_INET) {
      found.push_back(place);
    }
  }
  return found;
}

file_descriptor connect_to(const sockaddr_in& place) {
  file_descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  return made;
}

/// Noise of up to 300 bytes, some of which looks like the beginning of a connection.
void talk_nonsense(const file_descriptor& to, splitmix64& random) {
  std::vector<unsigned char> noise(1 + random.below(300));
  for (unsigned char& each : noise) each = static_cast<unsigned char>(random.below(random.below(2) == 0 ? 4 : 256));
  static_cast<void>(::send(to.get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

class strangers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(rxm, strangers, ::testing::Values("tcp;ofi_rxm"), [](const auto&) { return "rxm"; });
INSTANTIATE_TEST_SUITE_P(net, strangers, ::testing::Values("net"), [](const auto&) { return "net"; });

TEST_P(strangers, do_not_disturb_ranks) {
  ofi_pair{.provider = GetParam()}.run([](fabric& own) {
    mailbox mail(own, [&](const packet& p) {
      EXPECT_EQ(p.header, mail.arrived());
      return disposition::release;
    });
    const auto places = listening_places();
    EXPECT_FALSE(places.empty());
    splitmix64 random(static_cast<std::uint64_t>(own.rank()) + 1);
    std::vector<file_descriptor> connections;
    for (std::uint64_t i = 0; i < 200; ++i) {
      for (const sockaddr_in& place : places) {
        if (connections.size() < 20) connections.push_back(connect_to(place));
      }
      file_descriptor& one = connections[random.below(connections.size())];
      if (one) talk_nonsense(one, random);
      if (random.below(8) == 0) std::swap(one, connections.back()), connections.pop_back();
      if (connections.empty()) connections.push_back(connect_to(places.front()));
      mail.send(1 - own.rank(), i);
    }
    mail.until([&] { return mail.arrived() == 200; });
    mail.barrier();
  });
}

using raw_packet = std::vector<std::byte>;

/// A process that knows the addresses of the ranks and the format of their packets, but not the key of the job. It may
/// read the traffic as well. It returns under a new address from time to time, because providers close the connection
/// of a process whose messages or keys they reject.
class stranger {
 public:
  stranger(const std::string& provider, const std::vector<std::string>& ranks, std::uint64_t seed)
      : ranks_(ranks), random_(seed) {
    std::string why;
    EXPECT_TRUE(fabrics_.load(why)) << why;
    info_ = ofi::find_provider(fabrics_, {.provider = provider, .address = "", .one_node = true}, why);
    EXPECT_NE(info_, nullptr) << why;
  }

  /// Sends something to one of the ranks; not if the provider has no space now. `seen`: packets that the process has
  /// read.
  void bother(const segment* memory, const std::vector<raw_packet>& seen = {}) {
    if (!open_ || random_.below(20) == 0) come_back();
    const fi_addr_t to = places_[random_.below(places_.size())];
    for (std::byte& each : bytes_) each = static_cast<std::byte>(random_.below(256));
    if (writes_) {
      write(to, memory);
    } else if (!seen.empty() && random_.below(2) == 0) {
      send_changed(to, seen[random_.below(seen.size())], seen.size());
    } else {
      send(to);
    }
    take_completions();
  }

  /// Sends to rank 0. False: the provider has no space now.
  bool send_to_first(const raw_packet& packet) {
    if (!open_) come_back();
    std::memcpy(bytes_.data(), packet.data(), packet.size());
    const auto status = fi_send(open_->endpoint(), bytes_.data(), packet.size(), nullptr, places_.front(), nullptr);
    take_completions();
    return status == 0;
  }

  void take_completions() {
    std::array<fi_cq_data_entry, 16> done;
    fi_cq_err_entry failed{};
    while (fi_cq_read(open_->queue(), done.data(), done.size()) > 0 || fi_cq_readerr(open_->queue(), &failed, 0) > 0) {
    }
  }

 private:
  void come_back() {
    open_ = std::make_unique<ofi::port>(fabrics_, ofi::info_ptr(fabrics_.dupinfo(info_.get()), {fabrics_.freeinfo}), 64,
                                        no_rank);
    places_ = open_->insert(ranks_);
    writes_ = !writes_;
  }

  /// Noise, or a header that is right but for its seal; some have data for the completion queue with them.
  void send(fi_addr_t to) {
    const ofi::wire_header forged{.seal = {std::byte(random_.below(256)), std::byte(random_.below(256))},
                                  .header = 7,
                                  .source = static_cast<std::uint32_t>(random_.below(2)),
                                  .sequence = static_cast<std::uint32_t>(random_.below(64)),
                                  .shape = static_cast<std::uint32_t>((1 + random_.below(4)) << 24),
                                  .released = static_cast<std::uint32_t>(random_.below(4))};
    if (random_.below(4) != 0) std::memcpy(bytes_.data(), &forged, sizeof forged);
    const std::size_t bytes = random_.below(20) == 0 ? bytes_.size() : sizeof forged;
    if (random_.below(2) == 0) {
      static_cast<void>(fi_send(open_->endpoint(), bytes_.data(), bytes, nullptr, to, nullptr));
    } else {
      static_cast<void>(fi_senddata(open_->endpoint(), bytes_.data(), bytes, nullptr, random_(), to, nullptr));
    }
  }

  /// A copy, as it is, with another payload, or with another payload and the number that the next packet may have.
  void send_changed(fi_addr_t to, raw_packet packet, std::size_t next) {
    const std::size_t change = random_.below(3);
    if (change > 0 && packet.size() > ofi::header_bytes) packet.back() ^= std::byte{1};
    if (change > 1) {
      const auto number = static_cast<std::uint32_t>(next + random_.below(8));
      std::memcpy(packet.data() + offsetof(ofi::wire_header, sequence), &number, sizeof number);
    }
    std::memcpy(bytes_.data(), packet.data(), packet.size());
    static_cast<void>(fi_send(open_->endpoint(), bytes_.data(), packet.size(), nullptr, to, nullptr));
  }

  /// With a key that it has guessed, or, without content, with one that it has seen on the wire.
  void write(fi_addr_t to, const segment* memory) {
    std::array<std::uint64_t, 3> check_base_key{};
    if (memory != nullptr) std::memcpy(check_base_key.data(), memory->key.bytes.data(), sizeof check_base_key);
    const auto [check, base, seen_key] = check_base_key;
    const bool has_seen = memory != nullptr && random_.below(4) == 0;
    const std::uint64_t key = has_seen ? seen_key : random_.below(2) == 0 ? random_.below(4) : random_();
    const std::size_t bytes = has_seen ? 0 : got_.size();
    static_cast<void>(
        fi_writedata(open_->endpoint(), bytes_.data(), bytes, nullptr, random_(), to, base, key, nullptr));
    if (!has_seen) {
      static_cast<void>(fi_read(open_->endpoint(), got_.data(), bytes, nullptr, to, base, key, nullptr));
    }
  }

  std::vector<std::string> ranks_;
  splitmix64 random_;
  ofi::library fabrics_;
  ofi::info_ptr info_;
  raw_packet bytes_ = raw_packet(12'000);  // more than a packet
  std::array<std::byte, 64> got_{};
  std::unique_ptr<ofi::port> open_;
  std::vector<fi_addr_t> places_;  ///< of the ranks
  bool writes_ = false;
};

/// Neither a packet nor a notification nor a byte of theirs gets in, and nothing of the ranks' own is lost.
TEST_P(strangers, forged_operations_without_effect) {
  ofi_pair{.provider = GetParam(), .sealed = false}.run([&](fabric& own, const job_facts& facts) {
    const rank_t other = 1 - own.rank();
    std::uint64_t notified = 0;
    mailbox mail(own, [&](const packet& p) {
      EXPECT_EQ(p.header, 1000 + mail.arrived());
      EXPECT_EQ(p.source, other);
      return disposition::release;
    });
    mail.on_notify([&](std::uint32_t) { ++notified; });
    mail.on_done([](std::uint64_t) {});
    const segment memory = own.remote()->create(4096);
    stranger one(GetParam(), facts.addresses, static_cast<std::uint64_t>(own.rank()) + 1);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      one.bother(&memory);
      mail.send(other, 1000 + i);
    }
    mail.until([&] { return mail.arrived() == 1000; });
    mail.barrier();
    EXPECT_EQ(notified, 0u);
    const std::vector<std::byte> untouched(memory.bytes);
    EXPECT_EQ(std::memcmp(memory.data, untouched.data(), memory.bytes), 0);
    own.remote()->destroy(memory);
  });
}

/// Copies of genuine packets, changed ones and invented ones: the ranks get the packets of each other alone.
TEST_P(strangers, changed_packets_refused) {
  ofi_pair{.provider = GetParam()}.run([&](fabric& own, const job_facts& facts) {
    const rank_t other = 1 - own.rank();
    std::uint64_t arrived = 0;
    std::vector<raw_packet> seen;
    mailbox mail(own, [&](const packet& p) {
      EXPECT_EQ(p.header, 1000 + arrived);
      EXPECT_EQ(p.source, other);
      EXPECT_EQ(p.payload.size(), 100u);
      for (const std::byte each : p.payload) EXPECT_EQ(each, std::byte{0x5a});
      ++arrived;
      const std::byte* const begin = p.payload.data() - ofi::header_bytes;  // its header, as it came over the wire
      seen.emplace_back(begin, begin + ofi::header_bytes + p.payload.size());
      return disposition::release;
    });
    const raw_packet payload(100, std::byte{0x5a});
    stranger one(GetParam(), facts.addresses, static_cast<std::uint64_t>(own.rank()) + 1);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      one.bother(nullptr, seen);
      mail.send(other, 1000 + i, payload);
    }
    mail.until([&] { return arrived == 1000; });
    mail.barrier();
  });
}

/// What the two ranks report if one of them has the other one's key, and sends packets in its place.
TEST(stranger_with_key, missing_packets_name_peer) {
  ofi_pair{.provider = "net"}.run([](fabric& own, const job_facts& facts) {
    mailbox mail(own, done_with);
    mail.barrier();
    if (own.rank() == 1) {
      EXPECT_THROW(mail.until([] { return false; }), job_aborted);
      return;
    }
    ofi::sodium crypto;
    std::string why;
    ASSERT_TRUE(crypto.load(why)) << why;
    ofi::gate forger({.crypto = crypto,
                      .key = facts.key,
                      .sealed = true,
                      .rank = 1,
                      .size = 2,
                      .packet_bytes_max = own.caps().packet_bytes_max,
                      .credits = 16});
    forger.with(0).next_out = 1'000'000;
    raw_packet forged(ofi::header_bytes + 8);
    forger.seal(0, ofi::packet_kind::data, 7, forged.data(), 8);
    stranger one("net", facts.addresses, 1);
    bool sent = false;
    const auto send_forged = [&] {
      if (!sent) sent = one.send_to_first(forged);
      one.take_completions();
      return false;
    };
    EXPECT_EQ(amity::testing::error_of([&] { mail.until(send_forged); }),
              "amity: AMITY_FABRIC=ofi (rank 0): packets from rank 1 are missing: an unknown process may have "
              "connected in its place, or the provider has closed the connection; keep other processes away from the "
              "ports of the job, or use another AMITY_OFI_PROVIDER");
  });
}

}  // namespace
}  // namespace amity::fabric::testing
