#pragma once

/// How large values are encoded and decoded piece by piece, so that their bytes are never held whole.
///
/// Strings, vectors, arrays, pairs, tuples, optionals and trivially copyable values are read from where they are and
/// built where they stay. A codec of the user's needs contiguous bytes: each value that has one travels as the number
/// of its bytes and these, and costs one encoded copy of itself on both sides while it is sent and received.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/base/bytes.hpp"
#include "amity/base/large_pages.hpp"
#include "amity/message/codec.hpp"

namespace amity::detail {

template <class Value>
inline constexpr bool is_string_or_vector = false;
template <>
inline constexpr bool is_string_or_vector<std::string> = true;
template <class Value>
inline constexpr bool is_string_or_vector<std::vector<Value>> = true;

template <class Value>
concept streamed_sequence = is_string_or_vector<Value> && std::derived_from<codec<Value>, sequence_codec<Value>>;
template <class Value>
concept streamed_product = !plain<Value> && std::derived_from<codec<Value>, product_codec<Value>>;
template <class Value>
concept streamed_optional =
    !plain<Value> && std::derived_from<codec<Value>, optional_codec<typename Value::value_type>>;
/// Encoded by the user's codec.
template <class Value>
concept streamed_block =
    !plain<Value> && !streamed_sequence<Value> && !streamed_product<Value> && !streamed_optional<Value>;

/// Whether the elements lie in memory as they are encoded, one behind the other.
template <class Sequence>
inline constexpr bool contiguous_elements =
    plain<typename Sequence::value_type> && !std::is_same_v<typename Sequence::value_type, bool>;

/// Space for the next bytes of an encoding.
class piece_writer {
 public:
  piece_writer(mutable_bytes to, bytes_of whose) noexcept : rest_(to), whose_(whose) {}

  /// Writes what fits of the `bytes` bytes at `from`, of which `done` are written. Returns whether all are.
  bool write(const void* from, std::size_t bytes, std::size_t& done) noexcept {
    const std::size_t now = std::min(bytes - done, rest_.size());
    if (now > 0) std::memcpy(rest_.data(), static_cast<const std::byte*>(from) + done, now);
    rest_ = rest_.subspan(now);
    done += now;
    return done == bytes;
  }
  /// Contiguous space; empty if there is less.
  mutable_bytes take(std::size_t bytes) noexcept {
    if (bytes > rest_.size()) return {};
    const mutable_bytes taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::size_t space() const noexcept { return rest_.size(); }
  const bytes_of& whose() const noexcept { return whose_; }

 private:
  mutable_bytes rest_;
  bytes_of whose_;
};

/// The next bytes of an encoding, and how many follow them.
class piece_reader {
 public:
  piece_reader(bytes_view from, std::uint64_t left, bytes_of whose) noexcept
      : rest_(from), left_(left), whose_(whose) {}

  /// Reads what is there of `bytes` bytes to `to`, of which `done` are read. Returns whether all are.
  bool read(void* to, std::size_t bytes, std::size_t& done) noexcept {
    const std::size_t now = std::min(bytes - done, rest_.size());
    if (now > 0) std::memcpy(static_cast<std::byte*>(to) + done, rest_.data(), now);
    rest_ = rest_.subspan(now);
    done += now;
    return done == bytes;
  }
  /// Contiguous bytes; empty if fewer are there.
  bytes_view take(std::size_t bytes) noexcept {
    if (bytes > rest_.size()) return {};
    const bytes_view taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::size_t here() const noexcept { return rest_.size(); }
  const bytes_of& whose() const noexcept { return whose_; }

  /// Throws `error` if the message has fewer bytes than `count` items need. Nothing is reserved for more items than
  /// that.
  void expect(std::uint64_t count, std::size_t item_bytes) const {
    if (item_bytes == 0 || count <= (rest_.size() + left_) / item_bytes) [[likely]]
      return;
    throw_truncated_message(count, item_bytes, rest_.size() + left_, whose_);
  }
  /// Throws `error` unless all bytes of the message are read.
  void finish() const {
    if (!rest_.empty() || left_ > 0) [[unlikely]]
      throw_unread_message(rest_.size() + left_, whose_);
  }

 private:
  bytes_view rest_;
  std::uint64_t left_;
  bytes_of whose_;
};

// Sizes

/// Least bytes that a value takes.
template <encodable Value>
constexpr std::size_t streamed_bytes_min() {
  if constexpr (plain<Value>) {
    return sizeof(Value);
  } else if constexpr (streamed_product<Value>) {
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return (std::size_t{0} + ... + streamed_bytes_min<std::remove_cv_t<std::tuple_element_t<Index, Value>>>());
    }
    (std::make_index_sequence<std::tuple_size_v<Value>>());
  } else if constexpr (streamed_optional<Value>) {
    return 1;
  } else {
    return sizeof(std::uint64_t);
  }
}

/// Whether the pieces are those of `encode`: no part has a codec of the user's.
template <encodable Value>
constexpr bool streams_as_encoded() {
  if constexpr (plain<Value>) {
    return true;
  } else if constexpr (streamed_sequence<Value>) {
    return streams_as_encoded<typename Value::value_type>();
  } else if constexpr (streamed_product<Value>) {
    return []<std::size_t... Index>(std::index_sequence<Index...>) {
      return (true && ... && streams_as_encoded<std::remove_cv_t<std::tuple_element_t<Index, Value>>>());
    }
    (std::make_index_sequence<std::tuple_size_v<Value>>());
  } else if constexpr (streamed_optional<Value>) {
    return streams_as_encoded<typename Value::value_type>();
  } else {
    return false;
  }
}

/// Bytes of a value in pieces.
template <encodable Value>
std::uint64_t streamed_bytes(const Value& value) {
  if constexpr (streams_as_encoded<Value>()) {
    return encoded_bytes(value);
  } else if constexpr (streamed_sequence<Value>) {
    std::uint64_t total = sizeof(std::uint64_t);
    for (const auto& each : value) total += streamed_bytes(each);
    return total;
  } else if constexpr (streamed_product<Value>) {
    return std::apply([](const auto&... each) { return (std::uint64_t{0} + ... + streamed_bytes(each)); }, value);
  } else if constexpr (streamed_optional<Value>) {
    return 1 + (value ? streamed_bytes(*value) : 0);
  } else {
    return sizeof(std::uint64_t) + codec<Value>::bytes(value);
  }
}

// Encoding: what is left to write of a value, which stays as it is. `write` returns whether all is written.

template <class Value>
class stream_encoder;

template <plain Value>
class stream_encoder<Value> {
 public:
  explicit stream_encoder(const Value& value) noexcept : value_(&value) {}
  bool write(piece_writer& to) noexcept { return to.write(value_, sizeof(Value), done_); }

 private:
  const Value* value_;
  std::size_t done_ = 0;
};

template <streamed_sequence Value>
class stream_encoder<Value> {
  using element = typename Value::value_type;

 public:
  explicit stream_encoder(const Value& value) noexcept : value_(&value), count_(value.size()) {}

  bool write(piece_writer& to) {
    if (counted_ < sizeof count_ && !to.write(&count_, sizeof count_, counted_)) return false;
    if constexpr (contiguous_elements<Value>) {
      return to.write(value_->data(), static_cast<std::size_t>(count_) * sizeof(element), next_);
    } else if constexpr (std::is_same_v<element, bool>) {
      for (; next_ < count_; ++next_) {
        const mutable_bytes place = to.take(1);
        if (place.empty()) return false;
        place.front() = static_cast<std::byte>((*value_)[next_]);
      }
      return true;
    } else {
      for (; next_ < count_; ++next_) {
        if (!current_) current_.emplace((*value_)[next_]);
        if (!current_->write(to)) return false;
        current_.reset();
      }
      return true;
    }
  }

 private:
  struct no_element {};
  // The encoder of an element that has left in part. Elements in place need none, and may be of a type on their own.
  using element_encoder = typename decltype([] {
    if constexpr (contiguous_elements<Value> || std::is_same_v<element, bool>) {
      return std::type_identity<no_element>{};
    } else {
      return std::type_identity<stream_encoder<element>>{};
    }
  }())::type;

  const Value* value_;
  std::uint64_t count_;
  std::size_t counted_ = 0;
  std::size_t next_ = 0;  ///< element; of elements in place, byte
  std::optional<element_encoder> current_;
};

/// Several values, one behind the other.
template <class... Ts>
class stream_encoders {
 public:
  explicit stream_encoders(const Ts&... values) : parts_(stream_encoder<Ts>(values)...) {}

  bool write(piece_writer& to) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) { return (true && ... && write_part<Index>(to)); }
    (std::index_sequence_for<Ts...>());
  }

 private:
  template <std::size_t Index>
  bool write_part(piece_writer& to) {
    if (written_ > Index) return true;
    if (!std::get<Index>(parts_).write(to)) return false;
    written_ = Index + 1;
    return true;
  }

  std::tuple<stream_encoder<Ts>...> parts_;
  std::size_t written_ = 0;
};

template <streamed_product Value, class Indices = std::make_index_sequence<std::tuple_size_v<Value>>>
struct product_streams;
template <streamed_product Value, std::size_t... Index>
struct product_streams<Value, std::index_sequence<Index...>> {
  using encoders = stream_encoders<std::remove_cv_t<std::tuple_element_t<Index, Value>>...>;
  static encoders encode(const Value& value) { return encoders(std::get<Index>(value)...); }
};

template <streamed_product Value>
class stream_encoder<Value> {
 public:
  explicit stream_encoder(const Value& value) : parts_(product_streams<Value>::encode(value)) {}
  bool write(piece_writer& to) { return parts_.write(to); }

 private:
  typename product_streams<Value>::encoders parts_;
};

template <class Value>
constexpr bool is_std_array = false;
template <class Value, std::size_t Size>
constexpr bool is_std_array<std::array<Value, Size>> = true;

/// One encoder at a time: a tuple of thousands would exceed the limits of compilers and the stack.
template <streamed_product Value>
requires is_std_array<Value>
class stream_encoder<Value> {
 public:
  explicit stream_encoder(const Value& value) : value_(&value) {}
  bool write(piece_writer& to) {
    for (; next_ < value_->size(); ++next_) {
      if (!current_) current_.emplace((*value_)[next_]);
      if (!current_->write(to)) return false;
      current_.reset();
    }
    return true;
  }

 private:
  const Value* value_;
  std::size_t next_ = 0;
  std::optional<stream_encoder<typename Value::value_type>> current_;
};

template <streamed_optional Value>
class stream_encoder<Value> {
 public:
  explicit stream_encoder(const Value& value) : has_value_(value.has_value()) {
    if (value) value_.emplace(*value);
  }
  bool write(piece_writer& to) {
    if (flagged_ == 0 && !to.write(&has_value_, sizeof has_value_, flagged_)) return false;
    return !value_ || value_->write(to);
  }

 private:
  bool has_value_;
  std::size_t flagged_ = 0;
  std::optional<stream_encoder<typename Value::value_type>> value_;
};

/// Writes what `write(byte_writer&)` writes, which must be all of `to`.
template <class Write>
void write_exactly(mutable_bytes to, const bytes_of& whose, Write&& write) {
  byte_writer writer(to, whose);
  write(writer);
  writer.finish();
}

template <streamed_block Value>
class stream_encoder<Value> {
 public:
  explicit stream_encoder(const Value& value) : value_(&value), bytes_(codec<Value>::bytes(value)) {}

  /// Encodes all of it, so that an error of the codec comes before anything is sent.
  void encode_whole(const bytes_of& whose) {
    encoded_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes_));
    write_to({encoded_.get(), static_cast<std::size_t>(bytes_)}, whose);
  }

  bool write(piece_writer& to) {
    if (counted_ < sizeof bytes_ && !to.write(&bytes_, sizeof bytes_, counted_)) return false;
    const auto bytes = static_cast<std::size_t>(bytes_);
    if (!encoded_) {
      if (bytes == 0) {
        write_to({}, to.whose());
        return true;
      }
      if (const mutable_bytes place = to.take(bytes); !place.empty()) {
        write_to(place, to.whose());
        return true;
      }
      if (to.space() == 0) return false;
      encode_whole(to.whose());
    }
    if (!to.write(encoded_.get(), bytes, done_)) return false;
    encoded_.reset();
    return true;
  }

 private:
  void write_to(mutable_bytes to, const bytes_of& whose) {
    write_exactly(to, whose, [&](byte_writer& writer) { codec<Value>::write(writer, *value_); });
  }

  const Value* value_;
  std::uint64_t bytes_;
  std::size_t counted_ = 0;
  std::size_t done_ = 0;
  std::unique_ptr<std::byte[]> encoded_;
};

// Decoding: a value of which a part is there. `read` returns whether all is; then `take` may be called, once.

template <class Value>
class stream_decoder;

template <plain Value>
class stream_decoder<Value> {
 public:
  bool read(piece_reader& from) noexcept { return from.read(bytes_, sizeof(Value), done_); }
  Value take() {
    if constexpr (std::is_same_v<Value, bool>) {
      return static_cast<std::uint8_t>(bytes_[0]) != 0;  // whatever byte arrived, it becomes a bool
    } else {
      return std::move(*reinterpret_cast<Value*>(bytes_));
    }
  }

 private:
  alignas(Value) std::byte bytes_[sizeof(Value)];
  std::size_t done_ = 0;
};

template <streamed_sequence Value>
class stream_decoder<Value> {
  using element = typename Value::value_type;
  static constexpr bool in_place = contiguous_elements<Value> && std::is_default_constructible_v<element>;

 public:
  bool read(piece_reader& from) {
    if (counted_ < sizeof count_) {
      if (!from.read(&count_, sizeof count_, counted_)) return false;
      from.expect(count_, streamed_bytes_min<element>());
      if (streamed_bytes_min<element>() > 0) reserve(static_cast<std::size_t>(count_));
    }
    return read_elements(from);
  }
  Value take() { return std::move(value_); }

 private:
  void reserve(std::size_t count) {
    value_.reserve(count);
    if constexpr (in_place) prefer_large_pages(value_.data(), count * sizeof(element));
  }

  bool read_elements(piece_reader& from) {
    if constexpr (in_place) {
      const std::size_t bytes = static_cast<std::size_t>(count_) * sizeof(element);
      const std::size_t there = std::min(bytes, next_ + from.here());
      // What is resized is the part of memory that is written now: it stays in the cache.
      value_.resize((there + sizeof(element) - 1) / sizeof(element));
      return from.read(value_.data(), there, next_) && there == bytes;
    } else {
      for (; next_ < count_; ++next_) {
        if (!current_) current_.emplace();
        if (!current_->read(from)) return false;
        value_.push_back(current_->take());
        current_.reset();
      }
      return true;
    }
  }

  struct no_element {};
  using element_decoder = typename decltype([] {
    if constexpr (in_place) {
      return std::type_identity<no_element>{};
    } else {
      return std::type_identity<stream_decoder<element>>{};
    }
  }())::type;

  Value value_;
  std::uint64_t count_ = 0;
  std::size_t counted_ = 0;
  std::size_t next_ = 0;  ///< element; of elements in place, byte
  std::optional<element_decoder> current_;
};

template <class... Ts>
class stream_decoders {
 public:
  bool read(piece_reader& from) {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) { return (true && ... && read_part<Index>(from)); }
    (std::index_sequence_for<Ts...>());
  }
  /// The values, as arguments of `make`.
  template <class Make>
  decltype(auto) take(Make&& make) {
    return std::apply([&](auto&... part) -> decltype(auto) { return make(part.take()...); }, parts_);
  }

 private:
  template <std::size_t Index>
  bool read_part(piece_reader& from) {
    if (read_ > Index) return true;
    if (!std::get<Index>(parts_).read(from)) return false;
    read_ = Index + 1;
    return true;
  }

  std::tuple<stream_decoder<Ts>...> parts_;
  std::size_t read_ = 0;
};

template <streamed_product Value>
class stream_decoder<Value> {
 public:
  bool read(piece_reader& from) { return parts_.read(from); }
  Value take() {
    return parts_.take([](auto&&... part) { return Value{std::forward<decltype(part)>(part)...}; });
  }

 private:
  typename decltype([]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::type_identity<stream_decoders<std::remove_cv_t<std::tuple_element_t<Index, Value>>...>>{};
  }(std::make_index_sequence<std::tuple_size_v<Value>>()))::type parts_;
};

template <streamed_product Value>
requires(is_std_array<Value>&& std::is_default_constructible_v<typename Value::value_type>&&
             std::is_move_assignable_v<typename Value::value_type>) class stream_decoder<Value> {
 public:
  bool read(piece_reader& from) {
    for (; next_ < value_.size(); ++next_) {
      if (!current_) current_.emplace();
      if (!current_->read(from)) return false;
      value_[next_] = current_->take();
      current_.reset();
    }
    return true;
  }
  Value take() { return std::move(value_); }

 private:
  Value value_{};
  std::size_t next_ = 0;
  std::optional<stream_decoder<typename Value::value_type>> current_;
};

template <streamed_optional Value>
class stream_decoder<Value> {
 public:
  bool read(piece_reader& from) {
    if (!flagged_) {
      if (!flag_.read(from)) return false;
      flagged_ = true;
      if (flag_.take()) value_.emplace();
    }
    return !value_ || value_->read(from);
  }
  Value take() {
    if (!value_) return std::nullopt;
    return value_->take();
  }

 private:
  stream_decoder<bool> flag_;
  bool flagged_ = false;
  std::optional<stream_decoder<typename Value::value_type>> value_;
};

template <streamed_block Value>
class stream_decoder<Value> {
 public:
  bool read(piece_reader& from) {
    if (counted_ < sizeof bytes_) {
      if (!from.read(&bytes_, sizeof bytes_, counted_)) return false;
      from.expect(bytes_, 1);
    }
    const auto bytes = static_cast<std::size_t>(bytes_);
    if (!encoded_) {
      if (bytes <= from.here()) {
        decode(from.take(bytes), from.whose());
        return true;
      }
      encoded_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    }
    if (!from.read(encoded_.get(), bytes, done_)) return false;
    decode({encoded_.get(), bytes}, from.whose());
    encoded_.reset();
    return true;
  }
  Value take() { return std::move(*value_); }

 private:
  void decode(bytes_view encoded, const bytes_of& whose) {
    byte_reader reader(encoded, whose);
    value_.emplace(codec<Value>::read(reader));
    reader.finish();
  }

  std::uint64_t bytes_ = 0;
  std::size_t counted_ = 0;
  std::size_t done_ = 0;
  std::unique_ptr<std::byte[]> encoded_;
  std::optional<Value> value_;
};

}  // namespace amity::detail
