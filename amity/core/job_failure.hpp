#pragma once

/// Why the job fails on a thread of a rank: the first exception of a handler, or of a call that may not throw.

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "amity/base/function_ref.hpp"

namespace amity::core {

class job_failure {
 public:
  bool exists() const noexcept { return cause_ != nullptr; }
  /// Whether `thrown` is the cause.
  bool is(const std::exception_ptr& thrown) const noexcept { return exists() && cause_ == thrown; }
  /// The first cause stays.
  void set(std::exception_ptr cause) noexcept {
    if (!cause_) cause_ = std::move(cause);
  }
  void rethrow() const {
    if (cause_) [[unlikely]]
      std::rethrow_exception(cause_);
  }

  /// A handler has thrown the current exception: `place()` says which. Call it before `set`.
  void note_place(function_ref<std::string()> place) {
    // A send that fails inside a handler has set its own exception, without the place.
    if (exists() && (place_ || !is(std::current_exception()))) return;
    place_ = std::make_unique<const std::string>(place());
  }
  /// "in the handler of 'int' for a message of rank 3", if a handler has thrown `thrown`; empty otherwise.
  std::string place_of(const std::exception_ptr& thrown) const {
    return is(thrown) && place_ ? *place_ : std::string();
  }

 private:
  std::exception_ptr cause_;
  std::unique_ptr<const std::string> place_;
};

}  // namespace amity::core
