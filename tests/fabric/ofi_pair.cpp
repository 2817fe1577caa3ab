#include "ofi_pair.hpp"

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/bootstrap/launched.hpp"
#include "harness.hpp"

namespace amity::fabric::testing {
namespace {

/// A start-up that does not report the end of the job to the ranks. Records what the ranks exchange.
class deaf final : public bootstrap {
 public:
  explicit deaf(std::unique_ptr<bootstrap> inner) : inner_(std::move(inner)) { set_node(inner_->node()); }
  rank_t rank() const noexcept override { return inner_->rank(); }
  rank_t size() const noexcept override { return inner_->size(); }
  std::vector<std::string> all_gather(std::string_view mine) override {
    return rounds_.emplace_back(inner_->all_gather(mine));
  }

  /// After the ranks have joined: they exchange the key first, and their addresses last.
  job_facts facts(std::size_t rounds_before) const {
    job_facts found;
    const std::string& greeting = rounds_.at(rounds_before).front();
    std::memcpy(found.key.bytes.data(), greeting.data(), found.key.bytes.size());
    found.addresses = rounds_.back();
    for (std::string& each : found.addresses) each.erase(0, 2);  // its length
    return found;
  }
  std::size_t rounds() const noexcept { return rounds_.size(); }

 private:
  std::unique_ptr<bootstrap> inner_;
  std::vector<std::vector<std::string>> rounds_;
};

}  // namespace

void ofi_pair::run(const std::function<void(fabric&)>& body) const {
  run([&](fabric& own, const job_facts&) { body(own); });
}

void ofi_pair::run(const std::function<void(fabric&, const job_facts&)>& body) const {
  start([&](lanes& joined, const job_facts& facts) { body(*joined.enter(0), facts); });
}

void ofi_pair::run_processes(const std::function<void(lanes&)>& body) const {
  start([&](lanes& joined, const job_facts&) { body(joined); });
}

void ofi_pair::start(const std::function<void(lanes&, const job_facts&)>& body) const {
  const auto job = shm::job_memory::create(2 * threads);
  static_cast<void>(ofi::describe(settings(), 2));  // libfabric looks at the machine once, not in each process
  run_forked(2, [&](rank_t rank) {
    settings config;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"AMITY_FABRIC", "ofi"},
                                      {"AMITY_OFI_PROVIDER", provider},
                                      {"AMITY_OFI_PEER_SECONDS", std::to_string(peer_seconds)},
                                      {"AMITY_OFI_CREDITS", std::to_string(credits)},
                                      {"AMITY_OFI_SEALED", sealed ? "1" : "0"},
                                      {"AMITY_RANKS", "2"},
                                      {"AMITY_THREADS", std::to_string(threads)},
                                      {"AMITY_RANK", std::to_string(rank)},
                                      {"AMITY_JOB_FD", std::to_string(job.fd())}}) {
      config.set(name, value);
    }
    const auto start = std::make_shared<deaf>(amity::detail::launched_bootstrap(config));
    const neighbourhood known = meet(*start, config);
    const std::size_t rounds = start->rounds();
    const auto joined = ofi::join(config, start, known, threads);
    body(*joined, start->facts(rounds));
  });
}

}  // namespace amity::fabric::testing
