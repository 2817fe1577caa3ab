#pragma once

/// Errors of window calls, with what they are about, for programs and interfaces that tell them apart.

#include <cstdint>
#include <string_view>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"

namespace amity {

enum class window_fault : std::uint8_t {
  epoch,       ///< the call is not permitted in the present epoch
  member,      ///< a rank that is not in the window, or is named twice
  range,       ///< bytes outside of the memory of a rank
  alignment,   ///< an address that is not a multiple of the size of the element
  layout,      ///< blocks that do not fit the operation
  operation,   ///< a reduction that is not defined on the type
  attachment,  ///< memory that is not attached, or cannot be
  memory,      ///< there is no memory, or the window would be too large
  sharing,     ///< ranks that cannot share memory
  promise,     ///< a promise that is not kept
  buffer,      ///< of active messages: too little is attached
  guarantee,   ///< of active messages: less is attached than is guaranteed to origins
  detached,    ///< of active messages: a buffer was detached that messages need
  handler,     ///< of active messages: it has failed
  counts,      ///< a handler of active messages has set counts that are too large
  argument,    ///< any other argument
};

class window_error : public error {
 public:
  window_error(window_fault fault, std::string_view call, rank_t rank, std::string_view problem,
               std::string_view remedy)
      : error(call, rank, problem, remedy), fault_(fault) {}

  window_fault fault() const noexcept { return fault_; }

 private:
  window_fault fault_;
};

}  // namespace amity
