#include "amity/fabric/sim/trace_file.hpp"

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "amity/base/error.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::size_t written_at_once_bytes = std::size_t{1} << 20;

// The unit of the form is the microsecond.
std::string micro(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

[[noreturn]] void refuse(const std::string& path) {
  throw error("sim::run", no_rank, fmt::format("cannot write AMITY_SIM_TRACE={}: {}", path, std::strerror(errno)),
              "name a file that can be written, on a disk with room: some 500 bytes a packet");
}

}  // namespace

trace_file::trace_file(std::string path, rank_t ranks, std::uint32_t node_ranks)
    : path_(std::move(path)),
      node_ranks_(node_ranks > 1 ? node_ranks : static_cast<std::uint32_t>(ranks)),
      file_(std::fopen(path_.c_str(), "w"), &std::fclose) {
  if (!file_) refuse(path_);
  fmt::format_to(std::back_inserter(waiting_), "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  for (rank_t rank = 0; rank < ranks; ++rank) {
    if (node_ranks > 1 && static_cast<std::uint32_t>(rank) % node_ranks == 0) {
      begin(rank, "M", 0);
      fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"process_name\",\"args\":{{\"name\":\"node {}\"}}",
                     process_of(rank));
      end();
    }
    begin(rank, "M", 0);
    fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"thread_name\",\"args\":{{\"name\":\"rank {}\"}}", rank);
    end();
  }
}

void trace_file::sent(const slice& when, rank_t dest, std::size_t bytes, std::uint64_t packet) {
  begin(when.rank, "X", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"dur\":{},\"name\":\"send\",\"args\":{{\"to\":{},\"bytes\":{}}}",
                 micro(when.end_ns - when.begin_ns), dest, bytes);
  end();
  begin(when.rank, "s", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"name\":\"packet\",\"cat\":\"packet\",\"id\":\"{:x}\"", packet);
  end();
}

void trace_file::handled(const slice& when, rank_t source, std::size_t bytes, std::uint64_t packet) {
  begin(when.rank, "X", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"dur\":{},\"name\":\"handle\",\"args\":{{\"from\":{},\"bytes\":{}}}",
                 micro(when.end_ns - when.begin_ns), source, bytes);
  end();
  begin(when.rank, "f", when.begin_ns);
  fmt::format_to(std::back_inserter(waiting_), ",\"bp\":\"e\",\"name\":\"packet\",\"cat\":\"packet\",\"id\":\"{:x}\"",
                 packet);
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
  if (failed_ || std::fflush(file_.get()) != 0) refuse(path_);
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
  failed_ |= std::fwrite(waiting_.data(), 1, waiting_.size(), file_.get()) != waiting_.size();
  waiting_.clear();
}

}  // namespace amity::fabric::sim
