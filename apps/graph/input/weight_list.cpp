#include "apps/graph/input/weight_list.hpp"

#include <fmt/format.h>

namespace amity::apps::graph {

void weight_list::convert() {
  if (real_) return;
  for (bits& each : bits_) each = std::bit_cast<bits>(static_cast<double>(std::bit_cast<std::int64_t>(each)));
  real_ = true;
}

void weight_list::add(double weight) {
  convert();
  bits_.push_back(std::bit_cast<bits>(weight));
}

void weight_list::add(const weight_value& weight, const line_reader& from) {
  if (const auto* const integer = std::get_if<std::int64_t>(&weight)) {
    if (!inexact_ && !exact_in_double(*integer)) {
      inexact_ = from.problem(fmt::format("weight {} is not exact in double, the type of these weights", *integer),
                              fmt::format("write it as {}.0 to have it rounded", *integer));
    }
    add(*integer);
  } else {
    add(std::get<double>(weight));
  }
}

void weight_list::make_real() {
  if (inexact_) throw input_error(*inexact_);
  convert();
}

}  // namespace amity::apps::graph
