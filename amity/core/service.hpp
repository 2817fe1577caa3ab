#pragma once

/// The services of a thread: protocols that belong to no world and no epoch, such as remote memory.

#include <array>
#include <cstddef>
#include <memory>

#include "amity/base/settings.hpp"
#include "amity/core/long_options.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class engine;
class memory_service;
class record_executor;
class record_stream;

class packet_receiver {
 public:
  /// A packet of the service has arrived. What is kept is released later, by the receiver. Not called after a failure;
  /// what it throws fails the job.
  virtual fabric::disposition on_packet(packet_header header, const fabric::packet& arrived) = 0;

 protected:
  ~packet_receiver() = default;
};

/// Who takes the packets of each service. Records and memory are made when they are first used, here or by a peer.
class service_table : private immovable {
 public:
  /// `on` is being constructed.
  service_table(engine& on, const settings& config);
  ~service_table();

  void attach(service which, packet_receiver& receiver) { receivers_[static_cast<std::size_t>(which)] = &receiver; }
  /// Throws `error` if the packet names no service, and what its receiver throws.
  fabric::disposition on_packet(const fabric::packet& arrived);

  record_stream& records() { return records_ != nullptr ? *records_ : make_records(); }
  /// Throws `error` for settings that this fabric cannot have.
  memory_service& memory() { return memory_ != nullptr ? *memory_ : make_memory(); }
  /// Null: it has not been used.
  memory_service* memory_if_used() const noexcept { return memory_.get(); }
  /// The executor of the records of windows, which the layer of windows makes; null: there is none.
  record_executor* windows() const noexcept { return windows_.get(); }
  void set_windows(std::unique_ptr<record_executor> made);
  /// Ends what is there: on the thread of the engine, while its fabric exists; on another one nothing is given back.
  void end() noexcept;

 private:
  record_stream& make_records();
  memory_service& make_memory();

  engine& engine_;
  long_options long_options_;
  std::array<packet_receiver*, services> receivers_{};
  std::unique_ptr<record_stream> records_;
  std::unique_ptr<memory_service> memory_;
  std::unique_ptr<record_executor> windows_;
};

}  // namespace amity::core
