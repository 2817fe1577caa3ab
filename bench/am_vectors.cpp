/// Active messages whose handlers say how much output each segment has: Figure 9 of X. Zhao, P. Balaji, W. Gropp and
/// R. Thakur, "Optimization Strategies for MPI-Interoperable Active Messages".

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/am_networks.hpp"
#include "bench/am_variants.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

constexpr rank_t origin = 0, target = 1;
constexpr std::size_t matches_max = 10;
constexpr auto matches_measured = std::to_array<int>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});

/// How the output of a message travels.
struct am_form {
  std::string_view name;
  bool is_vector;
  double pack_below;
};

constexpr auto forms = std::to_array<am_form>(
    {{"Am", false, 0}, {"Amv(1.0)", true, 1.0}, {"Amv(0.8)", true, 0.8}, {"Amv(auto)", true, -1}});

std::string key_of(std::string_view form, int matches, std::string_view figure) {
  return fmt::format("{}_{}_{}", form, matches, figure);
}

/// A search that finds several sequences for each segment, by one form of message.
class searches {
 public:
  searches(world& w, const am_form& form, std::size_t segments)
      : form_(form),
        segments_(segments),
        fixed_(handlers_.add([this](const am_call& call) { find(call); })),
        vector_(handlers_.add_vector([this](const am_call& call) {
          find(call);
          std::ranges::fill(call.output_counts, static_cast<std::uint32_t>(matches_));
        })),
        guarantee_{.target = target, .bytes = am_space_options().user_bytes},
        window_(w.allocate_window<sequence>(sequences_known, options(w.rank()))),
        input_(segments),
        output_(segments * matches_max),
        counts_(segments) {
    std::ranges::copy(search_workload::data_set(), window_.local().begin());
    if (w.rank() == target) {
      buffer_ = std::make_unique_for_overwrite<std::byte[]>(guarantee_.bytes);
      window_.attach_buffer(std::span(buffer_.get(), guarantee_.bytes));
    }
    for (std::size_t i = 0; i < segments; ++i) input_[i] = search_workload::input(i);
    w.barrier();
  }
  searches(const searches&) = delete;
  searches& operator=(const searches&) = delete;

  const am_form& form() const noexcept { return form_; }

  /// Both ranks agree on the sequences that each segment finds.
  void find_matches(std::size_t count) noexcept { matches_ = count; }

  /// Returns the time of an epoch.
  double epoch_ns(world& w, int messages) {
    std::ranges::fill(output_, sequence{});
    const am_counters before = window_.counters_of(target);
    const std::uint64_t begin_ns = w.now_ns();
    window_.lock(lock_kind::exclusive, target);
    for (int i = 0; i < messages; ++i) send();
    window_.unlock(target);
    const std::uint64_t end_ns = w.now_ns();
    used_ = since(before, window_.counters_of(target));
    check();
    return static_cast<double>(end_ns - begin_ns);
  }

  /// Figures of the last epoch.
  const am_counters& used() const noexcept { return used_; }

 private:
  // The sequences that a segment finds are those behind the place of its own.
  static std::size_t match(std::size_t place, std::size_t i) { return (place + i) % sequences_known; }

  void find(const am_call& call) const {
    const auto wanted = call.input_as<sequence>();
    const auto known = call.persistent_as<sequence>();
    const auto found = call.output_as<sequence>();
    for (std::size_t segment = 0; segment < wanted.size(); ++segment) {
      const std::size_t place = place_of(wanted[segment]);
      for (std::size_t i = 0; i < matches_; ++i) found[segment * matches_max + i] = known[match(place, i)];
    }
  }

  window_options options(rank_t rank) {
    am_options messages{.handlers = &handlers_,
                        .system_bytes = am_system_bytes,
                        .unit_bytes = 0,
                        .pack_below = form_.pack_below,
                        .detects_exclusive = false,
                        .adapts = false};
    if (rank == origin) messages.guarantees = std::span(&guarantee_, 1);
    return {.name = form_.name, .messages = messages};
  }

  // The outputs of all messages are equal.
  void send() {
    const auto in = std::span(std::as_const(input_));
    if (form_.is_vector)
      return window_.amv(vector_, target, 0, sequences_known, segments_, in, std::span(output_), counts_);
    window_.am(fixed_, target, 0, sequences_known, segments_, in, std::span(output_));
  }

  void check() const {
    for (std::size_t segment = 0; segment < segments_; ++segment) {
      if (form_.is_vector) expect_equal("sequences of a segment", counts_[segment], matches_);
      for (std::size_t i = 0; i < matches_; ++i) {
        const bool is_right = output_[segment * matches_max + i] == sequence_of(match(place_of(input_[segment]), i));
        expect_equal("sequences that were found", is_right ? 1 : 0, 1);
      }
    }
  }

  am_form form_;
  std::size_t segments_;
  std::size_t matches_ = 0;
  am_table handlers_;
  am_operation fixed_, vector_;
  am_guarantee guarantee_;
  std::unique_ptr<std::byte[]> buffer_;
  window<sequence> window_;
  std::vector<sequence> input_, output_;
  std::vector<std::uint32_t> counts_;
  am_counters used_;
};

sample measure_forms(world& w, std::size_t segments, int messages, int batches) {
  std::vector<std::unique_ptr<searches>> all;
  for (const am_form& each : forms) all.push_back(std::make_unique<searches>(w, each, segments));
  sample result;
  for (const int matches : matches_measured) {
    for (const auto& each : all) each->find_matches(static_cast<std::size_t>(matches));
    w.barrier();
    if (w.rank() == origin) {
      std::array<std::vector<double>, forms.size()> k_per_s;
      for (int batch = -1; batch < batches; ++batch) {  // the first one is not counted
        for (std::size_t i = 0; i < all.size(); ++i) {
          const double ns = all[i]->epoch_ns(w, messages);
          if (batch >= 0) k_per_s[i].push_back(messages / ns * 1e6);
        }
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto key = [&](std::string_view figure) { return key_of(forms[i].name, matches, figure); };
        const am_counters& used = all[i]->used();
        result[key("k_per_s")] = summarise(k_per_s[i]).median;
        result[key("of_am")] = result.at(key("k_per_s")) / result.at(key_of("Am", matches, "k_per_s"));
        result[key("output_bytes")] = static_cast<double>(used.output_bytes) / messages;
        result[key("count_bytes")] = static_cast<double>(used.count_bytes) / messages;
        result[key("requests")] = static_cast<double>(used.handshakes + used.queries + used.refusals);
      }
    }
    w.barrier();
  }
  return result;
}

int measure(job_context& job) {
  use_a_node_for_each_rank();
  return run_ranks(job, [&](world& w) {
    return measure_forms(w, std::stoul(job.args.at("segments")), std::stoi(job.args.at("messages")),
                         std::stoi(job.args.at("batches")));
  });
}

void drive_throughput(driver& d) {
  const std::string segments = "100";
  const arguments args{
      {"segments", segments}, {"messages", d.tiny() ? "10" : "1000"}, {"batches", d.tiny() ? "1" : "5"}};
  for (const am_network& network : am_networks(d, args)) {
    std::vector<figure> rows;
    for (const int matches : matches_measured) {
      const std::string config =
          fmt::format("{}: search, {} segments, {} % generated", network.name, segments, 10 * matches);
      for (const am_form& each : forms) {
        const std::string named = fmt::format("{}: {}", config, each.name);
        const auto key = [&](std::string_view figure) { return key_of(each.name, matches, figure); };
        rows.push_back({named, "messages", "k/s", key("k_per_s")});
        if (!each.is_vector) continue;
        rows.push_back({named, "rate / Am", "", key("of_am")});
        if (each.pack_below < 0) rows.back().wanted = {at_least(0.95)};
      }
    }
    d.compare({.ours = network.ranks, .rounds = network.is_simulated ? 1 : 3}, rows);
  }
}

/// Returns the bytes of output of n segments of which each generates `matches` sequences, without counts.
double expected_bytes(const am_form& form, double n, int matches) {
  const double whole = n * matches_max * sizeof(sequence);
  const double generated = n * matches * sizeof(sequence);
  return form.is_vector && matches < form.pack_below * matches_max ? generated : whole;
}

// Headers are those of the records of answers, which are equal in all forms, and 4 bytes for each unit of a vector
// message.
void drive_bytes(driver& d) {
  const std::string segments = "100";
  const std::vector<am_network> all = am_networks(d, {{"segments", segments}, {"messages", "1"}, {"batches", "1"}});
  for (const am_network& network : all) {
    std::vector<figure> rows;
    for (const int matches : matches_measured) {
      const std::string config =
          fmt::format("{}: search, {} segments, {} % generated", network.name, segments, 10 * matches);
      for (const am_form& each : std::span(forms).first(3)) {
        const std::string named = fmt::format("{}: {}", config, each.name);
        const auto key = [&](std::string_view figure) { return key_of(each.name, matches, figure); };
        const double n = std::stod(segments), bytes = expected_bytes(each, n, matches);
        const double counts = each.is_vector ? 4 * n : 0;
        rows.push_back({named, "output", "B", key("output_bytes"), "", "", {at_most(bytes), at_least(bytes)}});
        rows.push_back({named, "counts", "B", key("count_bytes"), "", "", {at_most(counts), at_least(counts)}});
        rows.push_back({named, "handshakes, queries, refusals", "", key("requests"), "", "", {at_most(0)}});
      }
    }
    d.compare({.ours = network.ranks, .rounds = 1}, rows);
  }
}

}  // namespace

const benchmark amv_throughput{"amv_throughput", "active messages whose segments generate 10 to 100 % of their output",
                               drive_throughput, measure};
const benchmark amv_bytes{"amv_bytes", "bytes of output of active messages with and without counts", drive_bytes,
                          measure};

}  // namespace amity::bench
