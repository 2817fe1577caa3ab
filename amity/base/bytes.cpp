#include "amity/base/bytes.hpp"

#include <string>

#include <fmt/format.h>

namespace amity {
namespace {

constexpr std::string_view writing_remedy = "let codec<T>::bytes return exactly what codec<T>::write writes";
constexpr std::string_view reading_remedy = "let codec<T>::read take exactly what codec<T>::write wrote";

std::string call(std::string_view act, const bytes_of& whose) {
  if (whose.type.empty()) return fmt::format("{} a message", act);
  return fmt::format("{} a message of type '{}'", act, whose.type);
}

}  // namespace

void byte_writer::throw_full(std::size_t wanted) const {
  throw error(call("writing", whose_), whose_.rank,
              fmt::format("{} bytes were to be written, there is room for {}", wanted, rest_.size()), writing_remedy);
}

void byte_writer::throw_room_left() const {
  throw error(call("writing", whose_), whose_.rank, fmt::format("{} bytes were not written", rest_.size()),
              writing_remedy);
}

void throw_truncated_message(std::uint64_t count, std::size_t item_bytes, std::uint64_t left, const bytes_of& whose) {
  const std::string wanted =
      item_bytes == 1 ? fmt::format("{} bytes", count) : fmt::format("{} items of {} bytes", count, item_bytes);
  throw error(call("reading", whose), whose.rank, fmt::format("{} exceed the {} bytes that are left", wanted, left),
              reading_remedy);
}

void throw_unread_message(std::uint64_t left, const bytes_of& whose) {
  throw error(call("reading", whose), whose.rank, fmt::format("{} bytes were not read", left), reading_remedy);
}

void byte_reader::throw_truncated(std::size_t count, std::size_t item_bytes) const {
  throw_truncated_message(count, item_bytes, rest_.size(), whose_);
}

void byte_reader::throw_bytes_left() const { throw_unread_message(rest_.size(), whose_); }

}  // namespace amity
