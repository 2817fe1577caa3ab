#pragma once

/// Errors that a user can cause and mend.
///
/// Every `amity::error` names the call, what was wrong with which value, the rank, and the remedy, so that the message
/// alone is enough to fix the program. Nothing is lost or half done when one is thrown, unless the call says otherwise.

#include <stdexcept>
#include <string>
#include <string_view>

#include "amity/base/types.hpp"

namespace amity {

/// A mistake of the user: wrong setting, wrong rank, wrong size, a call at the wrong time.
/// `what()` reads: "amity: CALL (rank R): PROBLEM; REMEDY".
class error : public std::runtime_error {
 public:
  error(std::string_view call, rank_t rank, std::string_view problem, std::string_view remedy);
};

/// Thrown out of blocking calls when another rank has ended the job: the cause was already reported there.
class job_aborted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace amity
