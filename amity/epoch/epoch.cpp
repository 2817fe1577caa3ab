#include "amity/epoch/epoch.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::epoch {

void epochs::begin() {
  if (endpoint_.in_handler()) {
    throw error("epoch", endpoint_.rank(), "a handler tried to begin an epoch", "begin epochs outside handlers");
  }
  if (inside()) {
    throw error("epoch", endpoint_.rank(), fmt::format("epoch {} has not ended yet", count_),
                "end an epoch before the next one begins; epochs do not nest");
  }
  // 1 to 255 in a circle; 0 stands for no epoch.
  const auto tag = static_cast<core::epoch_tag>(count_ % 255 + 1);
  ++count_;
  detector_->begin();
  endpoint_.open_epoch(tag);
}

void epochs::before_end() {
  if (endpoint_.in_handler()) {
    throw error("epoch", endpoint_.rank(), "a handler tried to end the epoch", "end epochs outside handlers");
  }
  if (!inside()) {
    throw error("epoch", endpoint_.rank(), "there is no epoch to end", "begin an epoch first");
  }
  endpoint_.end_body();
}

}  // namespace amity::epoch
