#pragma once

/// Heads in the contents of records.

#include <cstddef>
#include <cstring>
#include <span>

#include "amity/base/types.hpp"

namespace amity::detail {

/// Takes the head of a content; false: the content is shorter.
template <class Head>
bool take_head(bytes_view& content, Head& head) noexcept {
  if (content.size() < sizeof head) return false;
  std::memcpy(&head, content.data(), sizeof head);
  content = content.subspan(sizeof head);
  return true;
}

/// Writes a head, and returns where the rest of the content goes.
template <class Head>
std::byte* put_head(std::byte* to, const Head& head) noexcept {
  std::memcpy(to, &head, sizeof head);
  return to + sizeof head;
}

template <class Head>
bytes_view head_bytes(const Head& head) noexcept {
  return std::as_bytes(std::span(&head, 1));
}

}  // namespace amity::detail
