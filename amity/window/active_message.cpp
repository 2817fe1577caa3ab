#include "amity/window/active_message.hpp"

#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/window/am_description.hpp"

namespace amity {
namespace {

class call_of_handler final : public detail::am_recipe {
 public:
  explicit call_of_handler(const am_handler& handler) : handler_(handler) {}
  void run(const am_call& call) override { handler_(call); }

 private:
  const am_handler& handler_;
};

}  // namespace

am_operation am_table::add(am_handler handler, bool is_vector) {
  if (handler == nullptr)
    throw error(is_vector ? "am_table::add_vector" : "am_table::add", no_rank, "the handler is empty",
                "pass a function that can be called");
  const am_operation added{.number = static_cast<std::uint32_t>(entries_.size()), .is_vector = is_vector};
  for (const char letter : std::string_view(handler.target_type().name()))
    fingerprint_ = splitmix64::mix(fingerprint_ + static_cast<unsigned char>(letter) + 1);
  fingerprint_ = splitmix64::mix(fingerprint_ + (is_vector ? 2 : 1));
  entries_.push_back({std::move(handler), is_vector});
  return added;
}

std::unique_ptr<detail::am_recipe> am_table::prepare(const detail::am_description& of) {
  const bool is_known = of.operation < entries_.size() && entries_[of.operation].is_vector == of.is_vector();
  if (!is_known) {
    throw error("an active message", no_rank,
                fmt::format("{} operation {} is unknown: this rank has added {} operations",
                            of.is_vector() ? "vector" : "plain", of.operation, entries_.size()),
                "add the same handlers in the same order on all ranks");
  }
  return std::make_unique<call_of_handler>(entries_[of.operation].handler);
}

}  // namespace amity
