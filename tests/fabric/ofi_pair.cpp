#include "ofi_pair.hpp"

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

/// A start-up by which nobody hears that the job has ended. Remembers what ranks have told each other last.
class deaf final : public bootstrap {
 public:
  explicit deaf(std::unique_ptr<bootstrap> inner) : inner_(std::move(inner)) { set_node(inner_->node()); }
  std::string_view name() const noexcept override { return inner_->name(); }
  rank_t rank() const noexcept override { return inner_->rank(); }
  rank_t size() const noexcept override { return inner_->size(); }
  std::vector<std::string> all_gather(std::string_view mine) override { return last_ = inner_->all_gather(mine); }

  const std::vector<std::string>& last() const noexcept { return last_; }

 private:
  std::unique_ptr<bootstrap> inner_;
  std::vector<std::string> last_;
};

}  // namespace

void ofi_pair::run(const std::function<void(fabric&)>& body) const {
  run([&](fabric& own, const std::vector<std::string>&) { body(own); });
}

void ofi_pair::run(const std::function<void(fabric&, const std::vector<std::string>&)>& body) const {
  start([&](lanes& joined, std::vector<std::string> addresses) {
    for (std::string& each : addresses) each.erase(0, 2);  // its length
    body(*joined.enter(0), addresses);
  });
}

void ofi_pair::run_processes(const std::function<void(lanes&)>& body) const {
  start([&](lanes& joined, const std::vector<std::string>&) { body(joined); });
}

void ofi_pair::start(const std::function<void(lanes&, const std::vector<std::string>&)>& body) const {
  const auto job = shm::job_memory::create(2 * threads);
  static_cast<void>(ofi::describe(settings(), 2));  // libfabric looks at the machine once, not in each process
  run_forked(2, [&](rank_t rank) {
    settings config;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"AMITY_FABRIC", "ofi"},
                                      {"AMITY_OFI_PROVIDER", provider},
                                      {"AMITY_OFI_PEER_SECONDS", std::to_string(peer_seconds)},
                                      {"AMITY_OFI_CREDITS", std::to_string(credits)},
                                      {"AMITY_RANKS", "2"},
                                      {"AMITY_THREADS", std::to_string(threads)},
                                      {"AMITY_RANK", std::to_string(rank)},
                                      {"AMITY_JOB_FD", std::to_string(job.fd())}}) {
      config.set(name, value);
    }
    const auto start = std::make_shared<deaf>(amity::detail::launched_bootstrap(config));
    const auto joined = ofi::join(config, start, meet(*start, config), threads);
    body(*joined, start->last());
  });
}

}  // namespace amity::fabric::testing
