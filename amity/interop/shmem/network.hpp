#pragma once

/// The way to PEs on other nodes, whose memory is not mapped: operations on it travel as packets, and the library of
/// the PE that they are for carries them out in its own memory.
///
/// - All that one PE does in another's memory is carried out in the order of the calls. So a flag comes after what was
///   put before it, and whoever has an answer knows that all before the question is done.
/// - Atomics are the machine's own where they are carried out, as those of PEs on the same node are.
/// - Operations are collected in a packet until `send`, which every call of the library ends with.
/// - Nothing here runs the program's code. A PE carries out operations of its peers whenever it waits for anything.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "amity/base/guard.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::shmem {

class network final : public fabric::sink {
 public:
  /// In the header of its packets, to tell them from others.
  static constexpr std::uint64_t header = 1;

  /// `transport` keeps packets in order.
  explicit network(fabric::fabric& transport);

  /// For several threads at once.
  guard& threads() noexcept { return threads_; }

  // Symmetric addresses are those of this PE; all of `bytes` must be symmetric, or the job ends.

  /// Copies; a word that is aligned is stored whole.
  void put(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
    const guard::inside alone(threads_);
    write(call, dest, source, bytes, pe);
    at(pe).changed = true;  // not before: another thread may call `quiet` meanwhile
  }
  /// The same for what the library has other means to wait for than `quiet`.
  void write(const char* call, void* dest, const void* source, std::size_t bytes, int pe);
  void atomic(const char* call, void* at, const fabric::atomic_request& what, int pe);
  /// Sends off what was collected for a PE; `quiet` and `finish_gets` do so for all.
  void send(int pe);
  void send_all();

  /// Waits; what was there before, widened with zeros.
  std::uint64_t fetch(const char* call, void* at, const fabric::atomic_request& what, int pe);
  void get(const char* call, void* dest, const void* source, std::size_t bytes, int pe);
  /// The same, complete after `quiet`, or `finish_gets`.
  void begin_get(const char* call, void* dest, const void* source, std::size_t bytes, int pe);

  void finish_gets();

  /// Waits until all operations of this PE are carried out.
  void quiet() { quiet_but(-1); }
  /// The same without those on one PE's memory, which are before whatever that one hears next.
  void quiet_but(int excepted);

  /// Carries out what has arrived, and sends the answers; true if there was anything. Where another thread is inside it
  /// is left to that one. Ends this process if the job has ended.
  bool poll();
  /// Ends this process if the job has ended. With a timeout of 0 it asks what costs little.
  void look_for_the_end(std::uint64_t timeout_ns);

  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override;

 private:
  enum class act : std::uint8_t { put, atomic, fetch, get, data, ask, answer };

  /// In front of each operation in a packet. What follows is filled up to whole words.
  struct item {
    act what;
    fabric::atomic_op op = fabric::atomic_op::fetch;
    std::uint8_t word_bytes = 0;
    std::uint32_t bytes = 0;  ///< that follow
    std::uint64_t at = 0;     ///< a place; of data: the question; of an ask and its answer: how many
  };
  struct operands {
    std::uint64_t operand;
    std::uint64_t expected;
    std::uint64_t question;
  };
  struct wanted {
    std::uint64_t bytes;
    std::uint64_t question;
  };
  /// A get or fetch of this PE's that is under way. Its data comes in order.
  struct question {
    std::byte* to = nullptr;
    std::atomic<std::size_t> left = 0;
    bool waits = false;  ///< somebody does; the question is free again when that one has seen its end
    std::atomic<bool> taken = false;
  };
  /// What this PE must tell one that has asked.
  struct reply {
    std::uint64_t question;
    const std::byte* from;  ///< null: the value
    std::uint64_t value;
    std::size_t left;
  };
  struct peer {
    fabric::slot open;
    std::size_t used = 0;  ///< bytes of the open packet; 0: none is open
    bool changed = false;  ///< its memory has been, since it was last asked
    std::uint64_t asked = 0;
    std::uint64_t answers = 0;    ///< to that
    std::uint64_t to_answer = 0;  ///< its last ask
    std::uint64_t answered = 0;
    std::deque<reply> replies;
  };

  static constexpr std::size_t questions_max = 64;

  peer& at(int pe) noexcept { return peers_[static_cast<std::size_t>(pe)]; }
  bool try_open(int pe, std::size_t bytes) noexcept;
  // The next three may wait, and other threads come in meanwhile.
  void rest(unsigned round);
  /// Rests until `ready()`; other threads come in meanwhile.
  template <class Ready, class Describe>
  void wait_outside(Ready ready, Describe describe);
  void open(int pe, std::size_t bytes);
  std::size_t ask_for(void* dest, std::size_t bytes, bool waits);
  std::byte* append(peer& to, const item& what) noexcept;
  void send_get(const char* call, std::size_t number, const void* source, std::size_t bytes, int pe);
  void await(const char* call, std::size_t number, int pe);
  void carry_out(int source, const item& what, const std::byte* content) noexcept;
  void take_data(std::uint64_t number, const std::byte* content, std::size_t bytes) noexcept;
  void reply_all() noexcept;
  bool reply_to(int pe) noexcept;

  fabric::fabric& transport_;
  std::size_t packet_bytes_max_;
  guard threads_;
  std::vector<peer> peers_;
  std::array<question, questions_max> questions_;
  std::size_t last_question_ = 0;
  std::atomic<std::size_t> nobody_waits_ = 0;  ///< questions under way that nobody waits for
  std::atomic<std::size_t> unanswered_ = 0;    ///< asks
  bool owes_ = false;                          ///< replies or answers
  std::uint32_t idle_polls_ = 0;               ///< in a row
};

}  // namespace amity::shmem
