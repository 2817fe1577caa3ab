/// The fabric ofi when others than ranks reach its port, and when a rank is gone.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/base/file_descriptor.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/bootstrap/launched.hpp"
#include "harness.hpp"
#include "mailbox.hpp"

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

/// A start-up by which nobody hears that the job has ended.
class deaf final : public bootstrap {
 public:
  explicit deaf(std::unique_ptr<bootstrap> inner) : inner_(std::move(inner)) { set_node(inner_->node()); }
  std::string_view name() const noexcept override { return inner_->name(); }
  rank_t rank() const noexcept override { return inner_->rank(); }
  rank_t size() const noexcept override { return inner_->size(); }
  std::vector<std::string> all_gather(std::string_view mine) override { return inner_->all_gather(mine); }

 private:
  std::unique_ptr<bootstrap> inner_;
};

settings two_ranks(rank_t rank, int job, const std::string& provider, const std::string& credits) {
  settings config;
  for (const auto& [name, value] : {std::pair<std::string, std::string>{"AMITY_FABRIC", "ofi"},
                                    {"AMITY_OFI_PROVIDER", provider},
                                    {"AMITY_OFI_PEER_SECONDS", "4"},
                                    {"AMITY_OFI_CREDITS", credits},
                                    {"AMITY_RANKS", "2"},
                                    {"AMITY_RANK", std::to_string(rank)},
                                    {"AMITY_JOB_FD", std::to_string(job)}}) {
    config.set(name, value);
  }
  return config;
}

/// A job of two ranks that no launcher watches, and that learn of its end by packets alone.
void run_two(const std::string& provider, const rank_body& body, const std::string& credits = "16") {
  const auto job = shm::job_memory::create(2);
  static_cast<void>(ofi::describe(settings(), 2));
  run_forked(2, [&](rank_t rank) {
    const settings config = two_ranks(rank, job.fd(), provider, credits);
    body(*ofi::join(config, std::make_shared<deaf>(amity::detail::launched_bootstrap(config))));
  });
}

void ranks_talk_while_strangers_do(const std::string& provider) {
  run_two(provider, [](fabric& own) {
    std::uint64_t arrived = 0;
    mailbox mail(own, [&](const packet& p) {
      EXPECT_EQ(p.header, arrived);
      ++arrived;
      return disposition::release;
    });
    const auto places = listening_places();
    EXPECT_FALSE(places.empty());
    splitmix64 random(static_cast<std::uint64_t>(own.rank()) + 1);
    std::vector<file_descriptor> strangers;
    for (std::uint64_t i = 0; i < 200; ++i) {
      for (const sockaddr_in& place : places) {
        if (strangers.size() < 20) strangers.push_back(connect_to(place));
      }
      file_descriptor& one = strangers[random.below(strangers.size())];
      if (one) talk_nonsense(one, random);
      if (random.below(8) == 0) std::swap(one, strangers.back()), strangers.pop_back();
      if (strangers.empty()) strangers.push_back(connect_to(places.front()));
      mail.send(1 - own.rank(), i);
    }
    mail.until([&] { return arrived == 200; });
    mail.barrier();
  });
}

TEST(strangers, do_not_disturb_ranks_over_rxm) { ranks_talk_while_strangers_do("tcp;ofi_rxm"); }
TEST(strangers, do_not_disturb_ranks_over_net) { ranks_talk_while_strangers_do("net"); }

TEST(an_abort, is_told_by_packets_where_no_launcher_tells_it) {
  run_two("net", [](fabric& own) {
    mailbox mail(own);
    mail.barrier();
    if (own.rank() == 1) own.abort();
    EXPECT_THROW(mail.until([] { return false; }), job_aborted);
  });
}

/// What the contract's tests of remote memory pass over where it is missing.
void has_remote_memory(const std::string& provider, bool atomics) {
  run_two(provider, [atomics](fabric& own) {
    EXPECT_NE(own.remote(), nullptr);
    EXPECT_EQ(own.caps().remote.notify_bits, 32u);
    EXPECT_EQ(own.caps().remote.atomics, atomics);
  });
}

TEST(remote_memory, is_there_over_rxm) { has_remote_memory("tcp;ofi_rxm", true); }
TEST(remote_memory, is_there_over_net) { has_remote_memory("net", false); }

void a_rank_is_gone(const std::string& provider) {
  run_two(provider, [](fabric& own) {
    mailbox mail(own);
    mail.barrier();
    if (own.rank() == 1) ::_exit(0);  // as if it had been killed, but a success for whoever runs this test
    std::string problem;
    try {
      mail.until([] { return false; });
    } catch (const error& caught) {
      problem = caught.what();
    }
    EXPECT_TRUE(problem.starts_with("amity: AMITY_FABRIC=ofi (rank 0): rank 1 has vanished: ")) << problem;
  });
}

/// A process that reads nothing stops the data of its peers, and its system then has less and less to acknowledge.
void a_rank_that_computes_is_not_gone(const std::string& provider) {
  run_two(
      provider,
      [](fabric& own) {
        mailbox mail(own, [](const packet&) { return disposition::release; });
        mail.barrier();
        if (own.rank() == 1) {
          std::this_thread::sleep_for(std::chrono::seconds(9));
        } else {
          const std::vector<std::byte> large(own.caps().packet_bytes_max);
          while (own.try_send(1, 0, large) == status::ok) {
          }
        }
        mail.barrier();
      },
      "256");
}

TEST(a_rank_that_computes, is_not_gone_over_rxm) { a_rank_that_computes_is_not_gone("tcp;ofi_rxm"); }
TEST(a_rank_that_computes, is_not_gone_over_net) { a_rank_that_computes_is_not_gone("net"); }

TEST(a_rank_that_is_gone, is_missed_over_rxm) { a_rank_is_gone("tcp;ofi_rxm"); }
TEST(a_rank_that_is_gone, is_missed_over_net) { a_rank_is_gone("net"); }

}  // namespace
}  // namespace amity::fabric::testing
