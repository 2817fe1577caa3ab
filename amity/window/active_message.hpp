#pragma once

/// Active messages on windows: a message runs a handler on the rank that owns the memory.
///
/// A message has segments of equal size, the smallest parts into which it may be split. The runtime sends it in units
/// of whole segments and calls the handler once for each unit, so a handler must give the same result for any division.
/// (Paper: X. Zhao, P. Balaji, W. Gropp and R. Thakur, "Optimization Strategies for MPI-Interoperable Active
/// Messages".)

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "amity/base/types.hpp"

namespace amity {

/// The arguments of a handler: some consecutive segments of one message.
struct am_call {
  std::size_t segments = 0;                  ///< of this call, at least 1
  bytes_view input{};                        ///< of these segments, only during the call
  mutable_bytes persistent{};                ///< memory of the window, the same for all calls of a message
  mutable_bytes output{};                    ///< of these segments, all zero bytes at first
  std::span<std::uint32_t> output_counts{};  ///< of a vector message: elements that each segment has generated

  // Elements instead of bytes; `Element` has the type that the origin has used.
  template <class Element>
  std::span<const Element> input_as() const noexcept {
    return {reinterpret_cast<const Element*>(input.data()), input.size() / sizeof(Element)};
  }
  template <class Element>
  std::span<Element> persistent_as() const noexcept {
    return {reinterpret_cast<Element*>(persistent.data()), persistent.size() / sizeof(Element)};
  }
  template <class Element>
  std::span<Element> output_as() const noexcept {
    return {reinterpret_cast<Element*>(output.data()), output.size() / sizeof(Element)};
  }
};

/// Calls no function that waits, and no function of a window: such a call throws `error`. An exception that leaves the
/// handler becomes an error of the call at the origin that completes the message.
using am_handler = std::function<void(const am_call&)>;

/// Names a handler on all ranks. In a vector message, the handler says how much output each segment has.
struct am_operation {
  std::uint32_t number = 0;
  bool is_vector = false;
};

namespace detail {

struct am_description;

/// How a target carries out the messages of one description.
class am_recipe {
 public:
  virtual void run(const am_call& call) = 0;
  virtual ~am_recipe() = default;
};

/// The operations that messages of a window may name.
class am_handlers {
 public:
  /// Throws `error` if there is no such operation, or if the description does not suit it.
  virtual std::unique_ptr<am_recipe> prepare(const am_description& of) = 0;
  /// Whether the calling thread may prepare and run handlers. If not, messages wait until another thread of the rank
  /// makes progress.
  virtual bool may_run_here() const noexcept { return true; }
  /// Equal on all ranks that have added the same handlers in the same order.
  virtual std::uint64_t fingerprint() const noexcept { return 0; }

 protected:
  ~am_handlers() = default;
};

}  // namespace detail

/// The handlers of a program. All ranks add the same ones in the same order, before they make windows with
/// `window_options::handlers`. The table outlives these windows.
class am_table final : public detail::am_handlers {
 public:
  am_operation add(am_handler handler) { return add(std::move(handler), false); }
  /// The handler fills `am_call::output_counts`, which are 0 at first.
  am_operation add_vector(am_handler handler) { return add(std::move(handler), true); }

 private:
  struct entry {
    am_handler handler;
    bool is_vector;
  };

  /// Throws `error` for an empty handler.
  am_operation add(am_handler handler, bool is_vector);
  std::unique_ptr<detail::am_recipe> prepare(const detail::am_description& of) override;
  std::uint64_t fingerprint() const noexcept override { return fingerprint_; }

  std::deque<entry> entries_;      // handlers stay where they are
  std::uint64_t fingerprint_ = 0;  ///< of the types of the handlers
};

/// What the messages of this rank to one target have needed so far. Bytes are those of contents, without headers.
struct am_counters {
  std::uint64_t messages = 0;
  std::uint64_t units = 0;
  std::uint64_t handshakes = 0;  ///< requests for space in buffers
  std::uint64_t queries = 0;     ///< requests for a list of all space, under an exclusive lock
  std::uint64_t refusals = 0;    ///< units that were sent again, because their buffer had been detached
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t count_bytes = 0;   ///< `output_counts` of vector messages
  std::uint64_t room_wait_ns = 0;  ///< in which the first waiting segment had no space
  std::uint64_t credit_bytes = 0;  ///< of buffers, which the target keeps for this rank now
  bool operator==(const am_counters&) const = default;
};

}  // namespace amity
