#include "amity/fabric/shm/node_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/base/file_descriptor.hpp"
#include "amity/fabric/shm/descriptor_handover.hpp"

namespace amity::fabric::shm {
namespace {

/// What each rank tells of itself.
struct offer {
  pid_t pid = 0;
  int fd = -1;              ///< of the memory, if it has created that
  bool has_socket = false;  ///< hands it out, because it cannot read /proc
  socket_name socket{};     ///< of that
};

offer offer_of(const std::string& told) {
  offer found;
  AMITY_ASSERT(told.size() == sizeof found, told.size());
  std::memcpy(&found, told.data(), sizeof found);
  return found;
}

bool sees_proc() { return ::access(fmt::format("/proc/{}/fd", ::getpid()).c_str(), X_OK) == 0; }

job_memory open_memory(const offer& theirs, rank_t creator, rank_t own, rank_t ranks,
                       const std::function<void()>& check) {
  if (theirs.has_socket) {
    const file_descriptor received = receive_descriptor(theirs.socket, theirs.pid, check);
    if (received) return job_memory::attach(received.get(), ranks);
    throw error(
        "shared memory", own,
        fmt::format("rank {} cannot read /proc, and does not hand out its memory: {}", creator, std::strerror(errno)),
        "mount /proc, let the processes of a node belong to one user and share their process and network "
        "namespaces, or give each another AMITY_NODE");
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", theirs.pid, theirs.fd);
  const file_descriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (opened) return job_memory::attach(opened.get(), ranks);
  throw error("shared memory", own, fmt::format("cannot open {} of rank {}: {}", path, creator, std::strerror(errno)),
              "let the processes of a node belong to one user and see each other in /proc, or give each another "
              "AMITY_NODE");
}

}  // namespace

node_memory share_memory(bootstrap& start, const neighbourhood& known, rank_t lanes) {
  const std::vector<rank_t> beside = ranks_beside(start.rank(), known.node_of);
  const rank_t creator = beside.front();
  const rank_t ranks = static_cast<rank_t>(beside.size()) * lanes;
  std::optional<job_memory> memory;
  std::optional<descriptor_server> server;
  offer mine{.pid = ::getpid()};
  if (start.rank() == creator) {
    memory = job_memory::create(ranks, known.cpus);
    mine.fd = memory->fd();
    if (beside.size() > 1 && !sees_proc()) mine.socket = server.emplace().name();
    mine.has_socket = server.has_value();
  }
  const std::vector<std::string> all = start.all_gather({reinterpret_cast<const char*>(&mine), sizeof mine});

  const auto check = [&] {
    if (start.aborted()) throw job_aborted("amity: another rank has ended the job");
    if (is_left_by(start.starter())) throw_left("shared memory", start.rank(), start.starter());
  };
  std::vector<peer_process> peers;
  for (const rank_t rank : beside) {
    const offer theirs = offer_of(all[static_cast<std::size_t>(rank)]);
    if (rank == creator && !memory) memory = open_memory(theirs, creator, start.rank(), ranks, check);
    peers.push_back({.name = rank, .pid = theirs.pid});
  }
  if (server) {
    std::vector<pid_t> clients;
    for (const peer_process& each : peers) {
      if (each.name != creator) clients.push_back(each.pid);
    }
    server->serve(mine.fd, std::move(clients), check);
  }
  return {.job = std::move(*memory),
          .watch = std::make_shared<peer_watch>(start.rank(), start.starter(), std::move(peers))};
}

}  // namespace amity::fabric::shm
