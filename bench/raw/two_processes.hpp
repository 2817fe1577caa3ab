#pragma once

/// Two pinned processes that share memory and nothing else: the frame of every raw limit.

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <new>
#include <system_error>

namespace amity::bench {

/// An object that a forked process shares with this one. Its pages are touched before they are used.
template <class T>
class shared_object {
 public:
  shared_object() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of shared memory");
    object_ = new (memory) T();
  }
  ~shared_object() { munmap(object_, sizeof(T)); }
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;

  T& operator*() noexcept { return *object_; }
  T* operator->() noexcept { return object_; }

 private:
  T* object_;
};

/// One word alone in its cache line, and alone in the pair of lines that the prefetcher takes together.
struct alignas(128) lonely_word {
  std::atomic<std::uint64_t> value{0};
};

/// Waits, as short as the machine can, until the word has the value. Pauses keep the waiting core from taking the line
/// away from a writer that is about to write it; two of them gave the lowest hand-over time.
inline void await(const std::atomic<std::uint64_t>& word, std::uint64_t value) noexcept {
  while (word.load(std::memory_order_acquire) != value) {  // Pairs with the release of whoever stores the value.
    __builtin_ia32_pause();
    __builtin_ia32_pause();
  }
}

/// Calls `side(0)` in this process and `side(1)` in a child, each pinned to a core of its own, and waits for both.
/// Throws std::runtime_error if the child fails.
void two_processes(const std::function<void(int)>& side);

}  // namespace amity::bench
