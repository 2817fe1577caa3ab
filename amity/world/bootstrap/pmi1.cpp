#include "amity/world/bootstrap/pmi1.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/world/bootstrap/hex.hpp"

namespace amity::detail {
namespace {

[[noreturn]] void not_joinable(const std::string& problem) {
  throw error("joining the job", no_rank,
              fmt::format("a process manager with PMI-1 has started this process, but {}", problem),
              "start it by mpiexec of MPICH, by a process manager with PMIx, or by `amity run -n N`");
}

/// Nothing if the text is no number, or a lower one.
std::optional<int> number_in(std::string_view text, int least) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && rest == end && number >= least ? std::optional(number) : std::nullopt;
}

int number_wanted(const char* variable, int least) {
  const char* const text = std::getenv(variable);
  const auto number = number_in(text == nullptr ? "" : text, least);
  if (!number) not_joinable(fmt::format("{} is no number that makes sense", variable));
  return *number;
}

/// The value of `key` in "cmd=... key=value ...": up to the next blank.
std::optional<std::string> value_in(const std::string& line, const std::string& key) {
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    if (line.compare(begin, key.size() + 1, key + "=") == 0) {
      return line.substr(begin + key.size() + 1, end - begin - key.size() - 1);
    }
    begin = end + 1;
  }
  return std::nullopt;
}

class pmi1 final : public fabric::bootstrap, private immovable {
 public:
  pmi1()
      : bootstrap(::getppid()),
        fd_(number_wanted("PMI_FD", 0)),
        rank_(number_wanted("PMI_RANK", 0)),
        size_(number_wanted("PMI_SIZE", 1)) {
    if (rank_ >= size_) not_joinable(fmt::format("PMI_RANK={} is not below PMI_SIZE={}", rank_, size_));
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    const std::string limits = ask("cmd=get_maxes", "maxes");
    value_bytes_max_ = limit_in(limits, "vallen_max");
    job_ = text_in(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
  }
  ~pmi1() override {
    try {
      // A process that ends without this has failed, and the manager ends the others.
      if (!aborted_here() && std::uncaught_exceptions() == 0) ask("cmd=finalize", "finalize_ack");
    } catch (const error&) {
      // The manager has gone before us: it needs no farewell.
    }
  }

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }

  /// Values may be shorter than what is to be told: it is cut into pieces.
  std::vector<std::string> all_gather(std::string_view mine) override {
    const int round = round_++;
    const std::string text = to_hex(mine);
    const std::size_t piece_bytes = value_bytes_max_ - 1;
    const std::size_t pieces = (text.size() + piece_bytes - 1) / piece_bytes;
    put(fmt::format("amity-{}-{}", round, rank_), std::to_string(pieces));
    for (std::size_t i = 0; i < pieces; ++i) {
      put(fmt::format("amity-{}-{}-{}", round, rank_, i), text.substr(i * piece_bytes, piece_bytes));
    }
    ask("cmd=barrier_in", "barrier_out");
    std::vector<std::string> all;
    for (rank_t other = 0; other < size_; ++other) all.push_back(read(round, other));
    // A rank may fail by what it has read. Hydra then ends those that still ask, loses its own way as it answers them,
    // and with it what the rank has said.
    ask("cmd=barrier_in", "barrier_out");
    return all;
  }

 private:
  static constexpr std::size_t line_bytes_max = 8192;

  std::string read(int round, rank_t other) {
    const auto pieces = number_in(get(fmt::format("amity-{}-{}", round, other)), 0);
    std::string text;
    for (int i = 0; i < pieces.value_or(0) && text.size() <= 2 * blob_bytes_max; ++i)
      text += get(fmt::format("amity-{}-{}-{}", round, other, i));
    std::string bytes;
    if (!pieces || !from_hex(text, bytes))
      not_joinable(fmt::format("what rank {} has given is no value of amity's", other));
    return bytes;
  }

  void put(const std::string& key, const std::string& text) {
    ask(fmt::format("cmd=put kvsname={} key={} value={}", job_, key, text), "put_result");
  }
  std::string get(const std::string& key) {
    return text_in(ask(fmt::format("cmd=get kvsname={} key={}", job_, key), "get_result"), "value");
  }

  static std::string text_in(const std::string& line, const std::string& key) {
    const auto found = value_in(line, key);
    if (!found) not_joinable(fmt::format("its answer '{}' lacks {}", line, key));
    return *found;
  }
  static std::size_t limit_in(const std::string& line, const std::string& key) {
    const auto number = number_in(text_in(line, key), 16);
    if (!number) not_joinable(fmt::format("its answer '{}' makes no sense", line));
    return static_cast<std::size_t>(*number);
  }

  /// Sends a question and waits for its answer, which must be `wanted` and no refusal.
  std::string ask(std::string question, const std::string& wanted) {
    question += '\n';
    for (std::size_t done = 0; done < question.size();) {
      const ssize_t sent = ::send(fd_, question.data() + done, question.size() - done, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) not_joinable(fmt::format("it cannot be asked: {}", std::strerror(errno)));
      done += static_cast<std::size_t>(sent);
    }
    std::string line = next_line();
    const bool refused = value_in(line, "rc").value_or("0") != "0";
    if (refused || value_in(line, "cmd") != wanted)
      not_joinable(fmt::format("it answers '{}' where '{}' is due", line, wanted));
    return line;
  }

  std::string next_line() {
    std::size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      char bytes[1024];
      const ssize_t count = ::read(fd_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0)
        not_joinable(count == 0 ? "it has gone" : fmt::format("it does not answer: {}", std::strerror(errno)));
      received_.append(bytes, static_cast<std::size_t>(count));
      if (received_.size() > line_bytes_max) not_joinable("it answers without end");
    }
    std::string line = received_.substr(0, end);
    received_.erase(0, end + 1);
    return line;
  }

  int fd_;  ///< the manager's: it stays open, because it notices when it closes
  rank_t rank_;
  rank_t size_;
  std::size_t value_bytes_max_ = 0;
  std::string job_;
  std::string received_;
  int round_ = 0;
};

}  // namespace

bool pmi1_is_there() { return std::getenv("PMI_FD") != nullptr; }

std::unique_ptr<fabric::bootstrap> pmi1_bootstrap() { return std::make_unique<pmi1>(); }

}  // namespace amity::detail
