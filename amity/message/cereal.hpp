#pragma once

/// A codec for types that cereal (https://uscilab.github.io/cereal) can serialise. Not part of amity/amity.hpp: who
/// includes this header needs cereal 1.3, and nobody else does.
///
///   template <> struct amity::codec<my_type> : amity::cereal_codec<my_type> {};
///
/// The bytes are those of memory, as in the rest of amity: all ranks have one kind of machine. To know the size of a
/// message its value is walked once more, which copies nothing and takes one step for a string or a vector of numbers.
/// Trivially copyable types are copied as they are and ask no codec, this one neither.

#include <cereal/cereal.hpp>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "amity/base/bytes.hpp"

namespace amity {

/// An archive that writes, or only counts.
class cereal_output : public cereal::OutputArchive<cereal_output, cereal::AllowEmptyClassElision> {
 public:
  /// Writes to `to`; null: counts.
  explicit cereal_output(byte_writer* to) : OutputArchive(this), to_(to) {}

  void write(const void* from, std::size_t bytes) {
    bytes_ += bytes;
    if (to_ != nullptr) to_->write_bytes(from, bytes);
  }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  byte_writer* to_;
  std::size_t bytes_ = 0;
};

class cereal_input : public cereal::InputArchive<cereal_input, cereal::AllowEmptyClassElision> {
 public:
  explicit cereal_input(byte_reader& from) : InputArchive(this), from_(from) {}

  void read(void* to, std::size_t bytes) {
    const bytes_view content = from_.read_bytes(bytes);
    if (bytes > 0) std::memcpy(to, content.data(), bytes);
  }

 private:
  byte_reader& from_;
};

// What cereal asks of an archive, found by the types of the archives.

template <class Value>
requires std::is_arithmetic_v<Value>
void CEREAL_SAVE_FUNCTION_NAME(cereal_output& to, const Value& value) { to.write(&value, sizeof value); }
template <class Value>
requires std::is_arithmetic_v<Value>
void CEREAL_LOAD_FUNCTION_NAME(cereal_input& from, Value& value) { from.read(&value, sizeof value); }

template <class Value>
void CEREAL_SAVE_FUNCTION_NAME(cereal_output& to, const cereal::BinaryData<Value>& array) {
  to.write(array.data, static_cast<std::size_t>(array.size));
}
template <class Value>
void CEREAL_LOAD_FUNCTION_NAME(cereal_input& from, cereal::BinaryData<Value>& array) {
  from.read(array.data, static_cast<std::size_t>(array.size));
}

template <class Value>
void CEREAL_SAVE_FUNCTION_NAME(cereal_output& to, const cereal::NameValuePair<Value>& named) {
  to(named.value);
}
template <class Value>
void CEREAL_LOAD_FUNCTION_NAME(cereal_input& from, cereal::NameValuePair<Value>& named) {
  from(named.value);
}

template <class Value>
void CEREAL_SAVE_FUNCTION_NAME(cereal_output& to, const cereal::SizeTag<Value>& count) {
  to(count.size);
}
template <class Value>
void CEREAL_LOAD_FUNCTION_NAME(cereal_input& from, cereal::SizeTag<Value>& count) {
  from(count.size);
}

template <class Value>
struct cereal_codec {
  static std::size_t bytes(const Value& value) {
    cereal_output counter(nullptr);
    save(counter, value);
    return counter.bytes();
  }
  static void write(byte_writer& to, const Value& value) {
    cereal_output archive(&to);
    save(archive, value);
  }
  static Value read(byte_reader& from) {
    static_assert(std::is_default_constructible_v<Value>,
                  "amity: cereal reads into a value that is there already: give this type a default constructor");
    cereal_input archive(from);
    Value value;
    archive(value);
    return value;
  }

 private:
  static void save(cereal_output& archive, const Value& value) {
    static_assert(cereal::traits::is_output_serializable<Value, cereal_output>::value,
                  "amity: cereal cannot serialise this type: give it a serialize function");
    if constexpr (cereal::traits::is_output_serializable<Value, cereal_output>::value) archive(value);
  }
};

}  // namespace amity

CEREAL_REGISTER_ARCHIVE(amity::cereal_output)
CEREAL_REGISTER_ARCHIVE(amity::cereal_input)
CEREAL_SETUP_ARCHIVE_TRAITS(amity::cereal_input, amity::cereal_output)
