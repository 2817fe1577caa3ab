#include "hosts.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <queue>
#include <system_error>

#include "amity/base/random.hpp"

namespace amity::testing {
namespace {

using std::chrono::steady_clock;

int check(int result, const char* act) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), act);
  return result;
}

ifreq named(const char* device) {
  ifreq made{};
  std::strncpy(made.ifr_name, device, sizeof made.ifr_name - 1);
  return made;
}

std::string address_of(int number) { return "10.77.0." + std::to_string(number + 1); }

void give_address(int socket, const char* device, unsigned long request, const std::string& address) {
  ifreq made = named(device);
  auto& place = reinterpret_cast<sockaddr_in&>(made.ifr_addr);
  place.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &place.sin_addr);
  check(::ioctl(socket, request, &made), "address");
}

void switch_on(int socket, const char* device) {
  ifreq made = named(device);
  check(::ioctl(socket, SIOCGIFFLAGS, &made), "state of a device");
  made.ifr_flags = static_cast<short>(made.ifr_flags | IFF_UP | IFF_RUNNING);
  check(::ioctl(socket, SIOCSIFFLAGS, &made), "switch on a device");
}

struct frame {
  steady_clock::time_point due;
  std::uint64_t number;  ///< among all frames: those that are due together keep their order
  std::size_t from;
  std::vector<char> bytes;

  bool operator<(const frame& other) const {  // the next one is the greatest
    return due != other.due ? due > other.due : number > other.number;
  }
};

}  // namespace

hosts::hosts(int count, const wire& given) : wire_(given), cut_(static_cast<std::size_t>(count)) {
  // A thread that has moved to another namespace does not come back.
  std::exception_ptr problem;
  for (int number = 0; number < count; ++number) {
    std::thread([&] {
      try {
        hosts_.push_back(make_host(number));
      } catch (...) {
        problem = std::current_exception();
      }
    }).join();
    if (problem) std::rethrow_exception(problem);
  }
  carrier_ = std::jthread([this](const std::stop_token& stopped) { carry(stopped); });
}

hosts::~hosts() = default;

hosts::host hosts::make_host(int number) {
  check(::unshare(CLONE_NEWNET), "a network namespace");
  host made{.space = file_descriptor(check(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "its name")),
            .device = file_descriptor(check(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun"))};
  ifreq device = named("wire");
  device.ifr_flags = IFF_TAP | IFF_NO_PI;
  check(::ioctl(made.device.get(), TUNSETIFF, &device), "a device");
  const file_descriptor socket(check(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "a socket"));
  give_address(socket.get(), "wire", SIOCSIFADDR, address_of(number));
  give_address(socket.get(), "wire", SIOCSIFNETMASK, "255.255.255.0");
  switch_on(socket.get(), "lo");
  switch_on(socket.get(), "wire");
  return made;
}

void hosts::carry(const std::stop_token& stopped) {
  std::priority_queue<frame> under_way;
  splitmix64 random(wire_.seed);
  const auto happens = [&random](double share) { return static_cast<double>(random.below(1'000'000)) < share * 1e6; };
  std::vector<pollfd> ends;
  for (const host& each : hosts_) ends.push_back({.fd = each.device.get(), .events = POLLIN, .revents = 0});
  std::uint64_t number = 0;
  char bytes[2048];
  while (!stopped.stop_requested()) {
    timespec limit{.tv_sec = 0, .tv_nsec = 20'000'000};
    if (!under_way.empty()) {
      const auto left = under_way.top().due - steady_clock::now();
      limit.tv_nsec = std::clamp<long>(std::chrono::nanoseconds(left).count(), 0, limit.tv_nsec);
    }
    ::ppoll(ends.data(), ends.size(), &limit, nullptr);
    for (std::size_t from = 0; from < ends.size(); ++from) {
      for (ssize_t size; (size = ::read(ends[from].fd, bytes, sizeof bytes)) > 0;) {
        if (cut_[from] || happens(wire_.lost)) continue;
        const auto delay = wire_.delay * (happens(wire_.late) ? 4 : 1);
        under_way.push({steady_clock::now() + delay, number++, from, {bytes, bytes + size}});
      }
    }
    for (; !under_way.empty() && under_way.top().due <= steady_clock::now(); under_way.pop()) {
      const frame& next = under_way.top();
      for (std::size_t to = 0; to < ends.size(); ++to) {
        if (to == next.from || cut_[to]) continue;
        if (::write(ends[to].fd, next.bytes.data(), next.bytes.size()) > 0) ++carried_;
      }
    }
  }
}

std::vector<std::string> hosts::placing(int ranks_each) const {
  std::string script = "host=$((AMITY_RANK / " + std::to_string(ranks_each) + "))\ncase $host in\n";
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    script += std::to_string(i) + ") place=/proc/" + std::to_string(::getpid()) + "/fd/" +
              std::to_string(hosts_[i].space.get()) + ";;\n";
  }
  script += "esac\nexport AMITY_OFI_ADDRESS=10.77.0.$((host + 1))\nexec nsenter --net=$place \"$@\"";
  return {"sh", "-c", script, "placing"};
}

}  // namespace amity::testing
