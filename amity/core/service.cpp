#include "amity/core/service.hpp"

#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/core/record_stream.hpp"

namespace amity::core {

service_table::service_table(engine& on, const settings& config) : engine_(on), long_options_(config) {}

service_table::~service_table() { end(); }

void service_table::end() noexcept {
  if (memory_ != nullptr && !engine_.on_own_thread()) memory_->abandon();
  windows_.reset();
  memory_.reset();
  records_.reset();
  receivers_ = {};
}

record_stream& service_table::make_records() {
  records_ = std::make_unique<record_stream>(engine_);
  return *records_;
}

void service_table::set_windows(std::unique_ptr<record_executor> made) {
  records().attach(record_owner::windows, *made);
  windows_ = std::move(made);
}

memory_service& service_table::make_memory() {
  memory_ = std::make_unique<memory_service>(engine_, long_options_);
  return *memory_;
}

fabric::disposition service_table::on_packet(const fabric::packet& arrived) {
  const packet_header header(arrived.header);
  const std::size_t which = header.handler();
  if (which >= services) throw engine_.invalid_packet(arrived.source, fmt::format("a packet of service {}", which));
  if (receivers_[which] == nullptr) {
    if (static_cast<service>(which) == service::long_slots) {
      make_memory();
    } else {
      make_records();
    }
  }
  return receivers_[which]->on_packet(header, arrived);
}

}  // namespace amity::core
