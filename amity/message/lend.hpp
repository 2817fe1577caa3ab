#pragma once

/// What a program gives along with memory that it lends for sending: the token, whose end says that the memory may be
/// reused.

#include <concepts>
#include <memory>
#include <utility>

#include "amity/core/lent.hpp"

namespace amity::detail {

template <class Token>
class held_token final : public core::lent_token, private immovable {
 public:
  explicit held_token(Token token) : token_(std::move(token)) {}
  ~held_token() override {
    if constexpr (std::invocable<Token&>) token_();
  }

 private:
  Token token_;
};

template <class Token>
std::unique_ptr<core::lent_token> hold(Token token) {
  return std::make_unique<held_token<Token>>(std::move(token));
}

}  // namespace amity::detail
