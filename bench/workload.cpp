#include "bench/workload.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace amity::bench {

huge_words::huge_words(std::size_t count) {
  constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
  mapped_bytes_ = (count * sizeof(std::uint64_t) + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
  // Room to spare: only a huge page that lies aligned can be used.
  mapped_bytes_ += huge_page_bytes;
  void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of a table");
  madvise(memory, mapped_bytes_, MADV_HUGEPAGE);
  words_ = {static_cast<std::uint64_t*>(memory), count};
  std::memset(words_.data(), 0, words_.size_bytes());
}

huge_words::~huge_words() { munmap(words_.data(), mapped_bytes_); }

std::uint64_t huge_words::sum() const noexcept {
  return std::accumulate(words_.begin(), words_.end(), std::uint64_t{0});
}

std::uint64_t sum_words(bytes_view payload) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + sizeof sum <= payload.size(); i += sizeof sum) {
    std::uint64_t word;
    std::memcpy(&word, payload.data() + i, sizeof word);
    sum += word;
  }
  return sum;
}

void touch_lines(mutable_bytes payload) noexcept {
  for (std::size_t at = 0; at < payload.size(); at += cache_line_bytes) {
    auto* const byte = const_cast<volatile std::byte*>(payload.data() + at);
    *byte = *byte;
  }
}

void pin_to_core(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cores[static_cast<std::size_t>(index) % cores.size()], &one);
  sched_setaffinity(0, sizeof one, &one);
}

void expect_equal(const std::string& what, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return;
  throw std::runtime_error("wrong answer: " + what + ": " + std::to_string(found) + " in place of " +
                           std::to_string(expected));
}

}  // namespace amity::bench
