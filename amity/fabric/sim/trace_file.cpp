#include "amity/fabric/sim/trace_file.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>

#include "amity/base/error.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::size_t written_at_once_bytes = std::size_t{1} << 20;

// The unit of the form is the microsecond.
std::string micro(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

bool has_nodes(const sim_options& options) { return options.node_ranks > static_cast<std::uint32_t>(options.lanes); }

[[noreturn]] void refuse(const std::string& path, int reason) {
  throw error("sim::run", no_rank, fmt::format("cannot write AMITY_SIM_TRACE={}: {}", path, std::strerror(reason)),
              "name a file that can be written, on a disk with room: some 500 bytes a packet or operation");
}

}  // namespace

trace_file::trace_file(const sim_options& options, rank_t ranks)
    : options_(options),
      node_ranks_(has_nodes(options) ? options.node_ranks : static_cast<std::uint32_t>(ranks)),
      file_(std::fopen(options.trace.c_str(), "w"), &std::fclose) {
  if (!file_) refuse(options_.trace, errno);
  fmt::format_to(std::back_inserter(waiting_), "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  for (rank_t rank = 0; rank < ranks; ++rank) {
    if (has_nodes(options) && static_cast<std::uint32_t>(rank) % node_ranks_ == 0) {
      begin(rank, "M", 0);
      fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"process_name\",\"args\":{{\"name\":\"node {}\"}}",
                     process_of(rank));
      end();
    }
    begin(rank, "M", 0);
    fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"thread_name\",\"args\":{{\"name\":\"{}\"}}",
                   options.name_of(rank));
    end();
  }
}

void trace_file::leaves(const slice& when, std::string_view what, rank_t to, std::size_t bytes, const arrow& way) {
  took(when, what, "to", to, bytes);
  point(when, "s", way);
}

// An arrow's end belongs to the slice that follows it, which may be one without a length.
void trace_file::arrives(const slice& when, std::string_view what, rank_t from, std::size_t bytes, const arrow& way) {
  point(when, "f", way);
  took(when, what, "from", from, bytes);
}

void trace_file::took(const slice& when, std::string_view what, std::string_view preposition, rank_t peer,
                      std::size_t bytes) {
  begin(when.rank, "X", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"dur\":{},\"name\":\"{}\",\"args\":{{\"{}\":{},\"bytes\":{}}}",
                 micro(when.end_ns - when.begin_ns), what, preposition, short_name_of(peer), bytes);
  end();
}

void trace_file::point(const slice& when, std::string_view phase, const arrow& way) {
  begin(when.rank, phase, when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"{}\",\"cat\":\"{}\",\"id\":\"{:x}\"", way.kind, way.kind,
                 way.number);
  end();
}

void trace_file::took(const slice& when, std::string_view what) {
  begin(when.rank, "X", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"dur\":{},\"name\":\"{}\"", micro(when.end_ns - when.begin_ns), what);
  end();
}

void trace_file::happened(rank_t rank, std::uint64_t time_ns, std::string_view what) {
  begin(rank, "i", time_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"s\":\"t\",\"name\":\"{}\"", what);
  end();
}

void trace_file::finish() {
  fmt::format_to(std::back_inserter(waiting_), "\n]}}\n");
  write_out();
  if (failure_ == 0 && std::fflush(file_.get()) != 0) failure_ = errno;
  if (failure_ != 0) refuse(options_.trace, failure_);
}

std::string trace_file::short_name_of(rank_t rank) const {
  return options_.lanes == 1 ? std::to_string(rank) : fmt::format("\"{}\"", options_.name_of(rank));
}

void trace_file::begin(rank_t rank, std::string_view phase, std::uint64_t time_ns) {
  fmt::format_to(std::back_inserter(waiting_), "{}\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{}", first_ ? "" : ",",
                 phase, process_of(rank), rank, micro(time_ns));
  first_ = false;
}

void trace_file::end() {
  waiting_.push_back('}');
  if (waiting_.size() >= written_at_once_bytes) write_out();
}

void trace_file::write_out() {
  if (std::fwrite(waiting_.data(), 1, waiting_.size(), file_.get()) != waiting_.size() && failure_ == 0)
    failure_ = errno;
  waiting_.clear();
}

}  // namespace amity::fabric::sim
