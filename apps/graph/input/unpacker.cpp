#include "apps/graph/input/unpacker.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace amity::apps::graph {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;
constexpr int gzip_only = 16;  // added to the size of the window, as zlib's manual says
constexpr std::size_t signature_bytes = 4;

}  // namespace

unpacker::unpacker(byte_source from) : from_(std::move(from)), buffer_(buffer_bytes) {
  if (::inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) throw std::bad_alloc();
}

unpacker::~unpacker() { ::inflateEnd(&stream_); }

/// Keeps the bytes that have not been used, and reads behind them.
void unpacker::refill() {
  const std::size_t kept = packed_.size();
  if (kept > 0) std::memmove(buffer_.data(), packed_.data(), kept);
  packed_ = std::span(buffer_).first(kept + from_.read(std::span(buffer_).subspan(kept)));
}

/// Whether a gzip member begins here: its magic number, the only method there is, and no reserved flag.
bool unpacker::at_member() {
  if (packed_.size() < signature_bytes) refill();
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(packed_[i]); };
  return packed_.size() >= signature_bytes && byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == Z_DEFLATED &&
         (byte(3) & 0xe0) == 0;
}

void unpacker::begin_member() {
  if (!at_member()) throw unpack_error("bytes follow the end of the gzip data");
  ::inflateReset(&stream_);
  state_ = state::in_member;
}

std::size_t unpacker::read_plain(std::span<char> into) {
  const auto first = packed_.first(std::min(packed_.size(), into.size()));
  std::ranges::copy(first, into.begin());
  packed_ = packed_.subspan(first.size());
  return first.size() + (packed_.empty() ? from_.read(into.subspan(first.size())) : 0);
}

/// Unpacks from the bytes in the buffer.
std::size_t unpacker::read_member(std::span<char> into) {
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data()));
  stream_.avail_in = static_cast<uInt>(packed_.size());
  stream_.next_out = reinterpret_cast<Bytef*>(into.data());
  stream_.avail_out = static_cast<uInt>(into.size());
  const int code = ::inflate(&stream_, Z_NO_FLUSH);
  packed_ = packed_.last(stream_.avail_in);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code == Z_STREAM_END) {
    state_ = state::between_members;
  } else if (code != Z_OK && code != Z_BUF_ERROR) {
    throw unpack_error("the gzip stream is damaged (" + std::string(stream_.msg ? stream_.msg : "invalid data") + ")");
  }
  return into.size() - stream_.avail_out;
}

std::size_t unpacker::read(std::span<char> into) {
  if (state_ == state::undecided) state_ = at_member() ? state::between_members : state::plain;
  if (state_ == state::plain) return read_plain(into);
  std::size_t filled = 0;
  while (filled < into.size()) {
    if (packed_.empty()) refill();
    if (packed_.empty()) {
      if (state_ == state::in_member) throw unpack_error("the gzip stream ends before its end mark");
      break;
    }
    if (state_ == state::between_members) begin_member();
    filled += read_member(into.subspan(filled));
  }
  return filled;
}

}  // namespace amity::apps::graph
