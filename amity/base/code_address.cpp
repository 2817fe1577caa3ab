#include "amity/base/code_address.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"

namespace amity {
namespace {

std::uint64_t hash_bytes(std::span<const unsigned char> bytes) {
  std::uint64_t hash = bytes.size();
  for (const unsigned char byte : bytes) hash = splitmix64::mix(hash + byte + 1);
  return hash;
}

constexpr std::size_t aligned_to_word(std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; }

/// The build id that the linker left in a note segment, or nothing.
std::span<const unsigned char> build_id(const ElfW(Phdr) & header, std::uintptr_t base) {
  const auto* at = reinterpret_cast<const unsigned char*>(base + header.p_vaddr);
  const auto* const end = at + header.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const unsigned char* const name = at + sizeof note;
    const unsigned char* const content = name + aligned_to_word(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      return {content, note.n_descsz};
    }
    at = content + aligned_to_word(note.n_descsz);
  }
  return {};
}

std::uint64_t hash_of_module(const dl_phdr_info& info) {
  for (const ElfW(Phdr) & header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    if (const auto id = build_id(header, info.dlpi_addr); !id.empty()) return hash_bytes(id);
  }
  const std::string_view path = info.dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  std::uint64_t hash = hash_bytes({reinterpret_cast<const unsigned char*>(name.data()), name.size()});
  for (const ElfW(Phdr) & header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    hash = splitmix64::mix(hash ^ header.p_memsz);
  }
  return hash;
}

struct code_range {
  std::uint32_t module;  ///< hash
  std::uintptr_t base;   ///< of the module
  std::uintptr_t begin;
  std::uintptr_t end;
};

/// The executable segments of this process.
std::vector<code_range> loaded_code() {
  std::vector<code_range> found;
  const auto visit = [](dl_phdr_info* info, std::size_t, void* into) {
    const auto hash = static_cast<std::uint32_t>(hash_of_module(*info));
    for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      static_cast<std::vector<code_range>*>(into)->push_back(
          {.module = hash, .base = info->dlpi_addr, .begin = begin, .end = begin + header.p_memsz});
    }
    return 0;
  };
  ::dl_iterate_phdr(visit, &found);
  return found;
}

std::optional<code_address> find_address(std::span<const code_range> modules, registered_function::function code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  const auto home = std::ranges::find_if(
      modules, [&](const code_range& each) { return each.begin <= address && address < each.end; });
  if (home == modules.end() || address - home->base > ~std::uint32_t{0}) return {};
  return code_address{.module = home->module, .offset = static_cast<std::uint32_t>(address - home->base)};
}

constexpr std::uint64_t key_of(code_address address) {
  return static_cast<std::uint64_t>(address.module) << 32 | address.offset;
}

/// The functions that this process has registered. One for the process, because a library registers its functions while
/// it is loaded, before any rank could pass it an object. Initialized and destroyed without code, so it is usable in
/// static initialization and in static destruction.
struct function_table {
  std::mutex mutex;
  registered_function* first = nullptr;
  std::atomic<std::uint64_t> version = 1;  ///< counts the changes
};
constinit function_table async_functions;

}  // namespace

std::optional<code_address> find_code_address(registered_function::function code) {
  return find_address(loaded_code(), code);
}

registered_function::registered_function(function which) noexcept : code_(which) {
  const std::scoped_lock lock(async_functions.mutex);
  next_ = async_functions.first;
  if (next_ != nullptr) next_->previous_ = this;
  async_functions.first = this;
  async_functions.version.fetch_add(1, std::memory_order_release);  // pairs with the acquire in code_map::update
}

registered_function::~registered_function() {
  const std::scoped_lock lock(async_functions.mutex);
  (previous_ != nullptr ? previous_->next_ : async_functions.first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  async_functions.version.fetch_add(1, std::memory_order_release);  // pairs with the acquire in code_map::update
}

void code_map::update() {
  if (version_ == async_functions.version.load(std::memory_order_acquire)) [[likely]]
    return;
  // A library that another thread loads between the two looks registers functions of a module not seen yet.
  if (!copy_table()) copy_table();
}

bool code_map::copy_table() {
  const std::vector<code_range> modules = loaded_code();
  std::vector<function> registered;
  {
    const std::scoped_lock lock(async_functions.mutex);
    version_ = async_functions.version.load(std::memory_order_relaxed);
    for (const registered_function* each = async_functions.first; each != nullptr; each = each->next_)
      registered.push_back(each->code());
  }
  addresses_.clear();
  functions_.clear();
  bool complete = true;
  for (const function code : registered) {
    const auto name = find_address(modules, code);
    if (!name) {
      complete = false;
      continue;
    }
    addresses_.emplace(code, *name);
    functions_.emplace(key_of(*name), code);
  }
  return complete;
}

code_address code_map::encode(const registered_function& which) {
  update();
  const auto found = addresses_.find(which.code());
  if (found != addresses_.end()) [[likely]]
    return found->second;
  throw error("async", no_rank,
              fmt::format("the function at {:#x} is in no module of the program",
                          reinterpret_cast<std::uintptr_t>(which.code())),
              "pass a function that was compiled into the program or into a shared library of it");
}

code_map::function code_map::decode(code_address address) {
  update();
  const auto found = functions_.find(key_of(address));
  if (found != functions_.end()) [[likely]]
    return found->second;
  throw error("async", no_rank,
              fmt::format("a call arrived for a function that this program has not registered: module {:#010x}, offset "
                          "{:#x}",
                          address.module, address.offset),
              "run the same build of the program on all ranks, and load a library on all ranks before one of them "
              "calls its functions");
}

}  // namespace amity
