/// Binary edge lists of the Graph500 benchmark (https://graph500.org, specification and reference code), little-endian
/// and without a header. Vertices are numbered from 0, up to the greatest number in the file or the one before
/// --vertices; edges may be traversed in both directions.
///
/// - packed: 12 bytes an edge: the low 32 bits of both ends, then their high 16 bits;
/// - int64: 16 bytes an edge: both ends.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "apps/graph/console/text.hpp"
#include "apps/graph/input/formats.hpp"

namespace amity::apps::graph {
namespace {

static_assert(std::endian::native == std::endian::little, "records are read as they lie in memory");

struct packed_record {
  static constexpr std::size_t bytes = 12;
  std::uint32_t low[2];
  std::uint16_t high[2];
  std::int64_t end(int which) const {
    const auto upper = static_cast<std::int64_t>(static_cast<std::int16_t>(high[which]));
    return upper * (std::int64_t{1} << 32) + low[which];
  }
};
static_assert(sizeof(packed_record) == packed_record::bytes);

struct int64_record {
  static constexpr std::size_t bytes = 16;
  std::int64_t ends[2];
  std::int64_t end(int which) const { return ends[which]; }
};
static_assert(sizeof(int64_record) == int64_record::bytes);

static_assert(48 % packed_record::bytes == 0 && 48 % int64_record::bytes == 0, "no record straddles blocks");

/// So many edges in a row from vertex 0 to itself are not edges, but a part of the file that was never written.
constexpr std::size_t zero_records_max = 1024;

vertex checked(std::int64_t end, const input& from, std::uint64_t offset, const read_options& options) {
  const auto where = [&] { return fmt::format("{}: byte {}", from.name(), offset); };
  if (end < 0)
    fail(where(), fmt::format("vertex {} is negative", end), "check the format (see --format)", from.place(offset));
  if (end >= no_vertex - 1) {
    fail(where(), fmt::format("vertex {} is greater than {}", end, no_vertex - 2),
         "check the format (see --format), or renumber the vertices", from.place(offset));
  }
  if (options.vertices && static_cast<std::uint64_t>(end) >= *options.vertices) {
    fail(where(), fmt::format("vertex {} is out of range: --vertices is {}", end, *options.vertices),
         "correct or omit --vertices, or check the format (see --format)", from.place(offset));
  }
  return static_cast<vertex>(end);
}

template <class Record>
void read_records(input& from, const read_options& options, edge_list& into) {
  if (options.vertices && *options.vertices >= no_vertex)
    check_vertex_count(from.name(), *options.vertices, 0, options);
  vertex greatest = 0;
  std::uint64_t offset = 0;
  for (auto block = from.next_block(); !block.empty(); block = from.next_block()) {
    if (block.size() % Record::bytes != 0) {
      fail(from.name(),
           fmt::format("{} bytes are no multiple of {}, the size of an edge", from.bytes_returned(), Record::bytes),
           "check the format (see --format), or fetch the file again", from.place(offset));
    }
    if (!from.mine()) {
      offset += block.size();
      continue;
    }
    into.enter(from.block());
    std::size_t zero_records = 0;  // in a row; counted in each block alone, for the same result on any number of ranks
    for (std::size_t i = 0; i < block.size(); i += Record::bytes, offset += Record::bytes) {
      Record record;
      std::memcpy(&record, block.data() + i, Record::bytes);
      const vertex source = checked(record.end(0), from, offset, options);
      const vertex target = checked(record.end(1), from, offset, options);
      zero_records = source == 0 && target == 0 ? zero_records + 1 : 0;
      if (zero_records > zero_records_max) {
        fail(fmt::format("{}: byte {}", from.name(), offset),
             fmt::format("the {} bytes before are zeros", zero_records_max * Record::bytes),
             "check the format (see --format), and that the whole file was written", from.place(offset));
      }
      greatest = std::max({greatest, source, target});
      into.edges.push_back({source, target});
    }
  }
  into.check = [name = from.name(), options](const totals& all) {
    check_vertex_count(name, all.vertices, all.edges, options);
    if (all.vertices == 1) {
      fail(name, fmt::format("all {} edges lead from vertex 0 to itself", grouped(all.edges)),
           "check the format (see --format), and that the whole file was written");
    }
  };
  into.names = labels::numbered(options.vertices ? static_cast<vertex>(*options.vertices) : greatest + 1, 0);
  into.undirected = true;
}

/// By its name, or by a byte that no text has.
bool is_binary(std::string_view name, std::string_view head) {
  return has_extension(name, ".graph500") || has_extension(name, ".g500") || has_extension(name, ".bin") ||
         head.substr(0, 4096).find('\0') != std::string_view::npos;
}

/// Whether the first records are edges between vertices that fit: wrongly cut bytes soon give numbers that do not.
template <class Record>
bool begins_with_edges(std::string_view head) {
  constexpr std::size_t records_max = 1024;
  const std::size_t records = std::min(head.size() / Record::bytes, records_max);
  for (std::size_t i = 0; i < records; ++i) {
    Record record;
    std::memcpy(&record, head.data() + i * Record::bytes, Record::bytes);
    for (const int which : {0, 1}) {
      if (record.end(which) < 0 || record.end(which) >= no_vertex) return false;
    }
  }
  return records > 0;
}

}  // namespace

bool is_graph500_packed(std::string_view file_name, std::string_view head) {
  if (has_extension(file_name, ".packed")) return true;
  if (has_extension(file_name, ".int64")) return false;
  return is_binary(file_name, head) && begins_with_edges<packed_record>(head) && !begins_with_edges<int64_record>(head);
}

bool is_graph500_int64(std::string_view file_name, std::string_view head) {
  return has_extension(file_name, ".int64") || is_binary(file_name, head);
}

void read_graph500_packed(input& from, const read_options& options, edge_list& into) {
  read_records<packed_record>(from, options, into);
}

void read_graph500_int64(input& from, const read_options& options, edge_list& into) {
  read_records<int64_record>(from, options, into);
}

}  // namespace amity::apps::graph
