#pragma once

/// Large messages with a codec, from a value on the source to a value on the target, in pieces.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "amity/base/bytes.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/stream_codec.hpp"

namespace amity::detail {

/// Whether a value whose encoding has so many bytes is sent in pieces: it and what comes with it fill more than a
/// packet.
inline bool goes_in_pieces(const core::endpoint& owner, std::size_t bytes) noexcept {
  constexpr std::size_t beside_value = 32;
  return bytes > owner.packet_bytes_max() - beside_value;
}

/// Produces the pieces that a `stream_encoder` or `stream_encoders` writes.
template <class Encoder>
class encoder_stream final : public core::outgoing_stream {
 public:
  encoder_stream(Encoder encoder, const bytes_of& whose) : encoder_(std::move(encoder)), whose_(whose) {}

  std::size_t produce(mutable_bytes to) override {
    piece_writer writer(to, whose_);
    if (!whole_) whole_ = encoder_.write(writer);
    return to.size() - writer.space();
  }

 private:
  Encoder encoder_;
  bytes_of whose_;
  bool whole_ = false;
};

/// A value for the pieces that it is sent in. If its codec is the user's, an error of the codec comes here.
template <encodable Value>
stream_encoder<Value> encoder_of(const Value& value, [[maybe_unused]] const bytes_of& whose) {
  stream_encoder<Value> encoder(value);
  if constexpr (streamed_block<Value>) encoder.encode_whole(whose);
  return encoder;
}

/// Owns the value until its last piece is produced.
template <encodable Value>
class owned_value_stream final : public core::outgoing_stream {
 public:
  owned_value_stream(Value&& value, const bytes_of& whose)
      : value_(std::move(value)), pieces_(encoder_of(*value_, whose), whose) {
    if constexpr (streamed_block<Value>) value_.reset();  // it is encoded
  }
  std::size_t produce(mutable_bytes to) override { return pieces_.produce(to); }

 private:
  std::optional<Value> value_;
  encoder_stream<stream_encoder<Value>> pieces_;
};

/// Reads the pieces of one message with a decoder.
template <class Decoder>
class piece_decoder {
 public:
  void consume(bytes_view next, std::uint64_t left, const bytes_of& whose) {
    piece_reader from(next, left, whose);
    if (!whole_) whole_ = decoder_.read(from);
    if (whole_) {
      from.finish();
    } else if (left == 0) {
      throw_truncated_message(1, 1, 0, whose);
    }
  }
  Decoder& decoder() noexcept { return decoder_; }

 private:
  Decoder decoder_;
  bool whole_ = false;
};

/// A value that arrives in pieces; `Target::handle_whole(const Value&)` handles it.
template <class Value, class Target>
class arriving_value final : public core::incoming_stream {
 public:
  arriving_value(Target& target, const bytes_of& whose) : target_(target), whose_(whose) {}

  void consume(bytes_view next, std::uint64_t left) override { pieces_.consume(next, left, whose_); }
  void handle() override {
    const Value value = pieces_.decoder().take();
    target_.handle_whole(value);
  }

 private:
  Target& target_;
  bytes_of whose_;
  piece_decoder<stream_decoder<Value>> pieces_;
};

}  // namespace amity::detail
