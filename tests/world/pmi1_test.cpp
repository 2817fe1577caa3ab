/// Joining a job by PMI-1: a process manager of the test's own answers, and what would be processes are threads.

#include <sys/socket.h>
#include <unistd.h>

#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/world/bootstrap/pmi1.hpp"
#include "tests/support/errors.hpp"

namespace amity::detail {
namespace {

/// What the manager says instead of its usual answer, if anything; with "" it goes. Called before it answers, by a
/// thread for each rank.
using other_answer = std::function<std::optional<std::string>(int rank, const std::string& question)>;

class manager {
 public:
  static constexpr std::size_t value_bytes_max = 20;

  explicit manager(
      int ranks, other_answer otherwise = [](int, const std::string&) { return std::nullopt; })
      : otherwise_(std::move(otherwise)), all_are_here_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("socketpair");
      clients_.push_back(pair[0]);
      serving_.emplace_back([this, rank, own = pair[1]] { serve(rank, own); });
    }
  }
  ~manager() {
    for (const int client : clients_) ::close(client);
    for (std::thread& each : serving_) each.join();
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(name);
  }

  /// As a process of this rank joins.
  std::unique_ptr<fabric::bootstrap> join(int rank) {
    ::setenv("PMI_FD", std::to_string(clients_[static_cast<std::size_t>(rank)]).c_str(), 1);
    ::setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("PMI_SIZE", std::to_string(clients_.size()).c_str(), 1);
    return pmi1_bootstrap();
  }

  /// `work(client)` on a thread for each rank.
  void run(const std::function<void(fabric::bootstrap&)>& work) {
    std::vector<std::unique_ptr<fabric::bootstrap>> joined;
    for (int rank = 0; rank < static_cast<int>(clients_.size()); ++rank) joined.push_back(join(rank));
    std::vector<std::thread> working;
    for (auto& client : joined) working.emplace_back([&work, &client] { work(*client); });
    for (std::thread& each : working) each.join();
  }

  bool was_asked(const std::string& question) {
    const std::lock_guard lock(mutex_);
    return questions_.contains(question);
  }

 private:
  void serve(int rank, int own) {
    std::string received;
    char bytes[1024];
    for (ssize_t count = 0; (count = ::read(own, bytes, sizeof bytes)) > 0;) {
      received.append(bytes, static_cast<std::size_t>(count));
      for (std::size_t end = 0; (end = received.find('\n')) != std::string::npos; received.erase(0, end + 1)) {
        const std::string question = received.substr(0, end);
        std::optional<std::string> answer = otherwise_(rank, question);
        if (!answer) answer = answer_to(question) + "\n";
        if (answer->empty()) {
          ::shutdown(own, SHUT_RDWR);
        } else {
          EXPECT_EQ(::send(own, answer->data(), answer->size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer->size()));
        }
      }
    }
    ::close(own);
  }

  static std::string word_behind(const std::string& question, const std::string& name) {
    const std::size_t begin = question.find(name) + name.size();
    return question.substr(begin, question.find(' ', begin) - begin);
  }

  std::string answer_to(const std::string& question) {
    const std::string command = word_behind(question, "cmd=");
    if (command == "barrier_in") {
      all_are_here_.arrive_and_wait();
      return "cmd=barrier_out";
    }
    const std::lock_guard lock(mutex_);
    questions_.insert(command);
    if (command == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (command == "get_maxes") return "cmd=maxes keylen_max=64 vallen_max=" + std::to_string(value_bytes_max);
    if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=job";
    if (command == "put") {
      const std::string value = word_behind(question, "value=");
      EXPECT_LT(value.size(), value_bytes_max);
      EXPECT_TRUE(values_.emplace(word_behind(question, "key="), value).second) << question;
      return "cmd=put_result rc=0";
    }
    if (command == "get") {
      const auto found = values_.find(word_behind(question, "key="));
      return found == values_.end() ? "cmd=get_result rc=-1" : "cmd=get_result rc=0 value=" + found->second;
    }
    return "cmd=finalize_ack";
  }

  other_answer otherwise_;
  std::barrier<> all_are_here_;
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::set<std::string> questions_;
  std::vector<int> clients_;
  std::vector<std::thread> serving_;
};

TEST(pmi1, gives_all_what_each_has_given) {
  // In pieces, since values of the manager are short; of any bytes, since they are text.
  std::string long_one(fabric::bootstrap::blob_bytes_max, '\0');
  for (std::size_t i = 0; i < long_one.size(); ++i) long_one[i] = static_cast<char>(i * 7);
  const std::vector<std::string> first{"", long_one, " =\n"};
  const std::vector<std::string> second{"0", "1", "2"};
  manager(3).run([&](fabric::bootstrap& client) {
    const auto rank = static_cast<std::size_t>(client.rank());
    EXPECT_EQ(client.size(), 3);
    EXPECT_EQ(client.all_gather(first[rank]), first);
    EXPECT_EQ(client.all_gather(second[rank]), second);
  });
}

TEST(pmi1, lets_nobody_go_on_before_all_have_read) {
  std::mutex mutex;
  std::condition_variable changed;
  int barriers_of_0 = 0;
  bool is_back_0 = false, was_back_0 = false;
  // Rank 1 is answered when rank 0 has come to its next barrier, or has gone on without one.
  const auto slow = [&](int rank, const std::string& question) -> std::optional<std::string> {
    std::unique_lock lock(mutex);
    if (rank == 0 && question == "cmd=barrier_in") ++barriers_of_0;
    changed.notify_all();
    if (rank == 1 && question.starts_with("cmd=get ")) {
      changed.wait(lock, [&] { return barriers_of_0 >= 2 || is_back_0; });
      was_back_0 = was_back_0 || is_back_0;
    }
    return std::nullopt;
  };
  manager(2, slow).run([&](fabric::bootstrap& client) {
    client.all_gather("a");
    const std::lock_guard lock(mutex);
    if (client.rank() == 0) is_back_0 = true;
    changed.notify_all();
  });
  EXPECT_FALSE(was_back_0);
}

TEST(pmi1, says_goodbye_unless_the_job_has_failed) {
  {
    manager of_one(1);
    of_one.join(0).reset();
    EXPECT_TRUE(of_one.was_asked("finalize"));
  }
  manager of_one(1);
  of_one.join(0)->abort();
  EXPECT_FALSE(of_one.was_asked("finalize"));
}

struct senseless {
  std::string name;
  std::string question;  ///< its beginning
  std::string answer;    ///< "": the manager goes
  std::string said;
};

class a_manager : public ::testing::TestWithParam<senseless> {};

TEST_P(a_manager, that_makes_no_sense_is_an_error) {
  const senseless& it = GetParam();
  manager of_one(1, [&](int, const std::string& question) {
    return question.starts_with(it.question) ? std::optional(it.answer) : std::nullopt;
  });
  testing::expect_error([&] { of_one.join(0)->all_gather("mine"); }, {it.said});
}

INSTANTIATE_TEST_SUITE_P(
    answers, a_manager,
    ::testing::Values(
        senseless{"refused", "cmd=init", "cmd=response_to_init rc=-1\n",
                  "it answers 'cmd=response_to_init rc=-1' where 'response_to_init' is due"},
        senseless{"another", "cmd=init", "cmd=maxes\n", "it answers 'cmd=maxes' where 'response_to_init' is due"},
        senseless{"gone", "cmd=get_maxes", "", "it has gone"},
        senseless{"endless", "cmd=get_maxes", std::string(9000, 'x'), "it answers without end"},
        senseless{"no_limit", "cmd=get_maxes", "cmd=maxes\n", "its answer 'cmd=maxes' lacks vallen_max"},
        senseless{"no_room", "cmd=get_maxes", "cmd=maxes vallen_max=3\n", "'cmd=maxes vallen_max=3' makes no sense"},
        senseless{"no_job", "cmd=get_my_kvsname", "cmd=my_kvsname\n", "its answer 'cmd=my_kvsname' lacks kvsname"},
        senseless{"no_count", "cmd=get kvsname=job key=amity-0-0", "cmd=get_result rc=0 value=many\n",
                  "what rank 0 has given is no value of amity's"},
        senseless{"no_text", "cmd=get kvsname=job key=amity-0-0-0", "cmd=get_result rc=0 value=mine\n",
                  "what rank 0 has given is no value of amity's"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace amity::detail
