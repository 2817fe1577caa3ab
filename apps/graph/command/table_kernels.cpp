/// The data kernels: counts at random slots of a distributed table, and reads of them.

#include <fmt/format.h>

#include "apps/graph/command/kernels.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/kernels/tables.hpp"

namespace amity::apps::graph {
namespace {

int run_table(session& job, const char* headline, table_result (*kernel)(world&, const table_options&)) {
  const table_options how{job.wanted().slots, job.wanted().updates, job.wanted().seed};
  table_result found;
  const auto runs = job.repeat(
      [&](const observer&) {
        found = kernel(job.ranks(), how);
        return found.spent;
      },
      "run", "slot");
  report result(headline);
  result.add("kernel", job.wanted().kernel);
  job.add_job(result);
  const double seconds = static_cast<double>(runs.median.ns) * 1e-9;
  const double rate = seconds == 0 ? 0 : static_cast<double>(how.updates) / seconds;
  result.add("slots", how.slots, "slots a thread", grouped(how.slots));
  result.add("updates", how.updates, "messages a thread", grouped(how.updates));
  result.add_cost(runs.median, runs.count, job.simulated());
  result.add("per_second", rate, "a thread and second", rate_text(rate));
  job.verify([&] { return found.mistakes == 0 ? "" : counted(found.mistakes, "mistake"); }, result,
             "every message has done its work");
  job.on_first([&] { job.publish(result); });
  return 0;
}

}  // namespace

int run_histogram(session& job) { return run_table(job, "Counts at random slots of a distributed table", count_slots); }
int run_gather(session& job) { return run_table(job, "Reads of random slots of a distributed table", gather_slots); }

}  // namespace amity::apps::graph
