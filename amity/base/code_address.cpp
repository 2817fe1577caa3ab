#include "amity/base/code_address.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

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

}  // namespace

void code_map::scan() {
  modules_.clear();
  const auto visit = [](dl_phdr_info* info, std::size_t, void* into) {
    auto& modules = *static_cast<std::vector<module>*>(into);
    const auto hash = static_cast<std::uint32_t>(hash_of_module(*info));
    for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
      if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      modules.push_back(
          {.hash = hash, .base = info->dlpi_addr, .code_begin = begin, .code_end = begin + header.p_memsz});
    }
    return 0;
  };
  ::dl_iterate_phdr(visit, &modules_);
}

const code_map::module* code_map::containing(std::uintptr_t address) const {
  const auto found = std::ranges::find_if(
      modules_, [&](const module& each) { return each.code_begin <= address && address < each.code_end; });
  return found == modules_.end() ? nullptr : &*found;
}

const code_map::module* code_map::named(std::uint32_t hash) const {
  const auto found = std::ranges::find(modules_, hash, &module::hash);
  return found == modules_.end() ? nullptr : &*found;
}

code_address code_map::encode(function code) {
  const auto address = reinterpret_cast<std::uintptr_t>(code);
  const module* home = containing(address);
  if (home == nullptr) {
    scan();  // the first call, or a library was loaded since
    home = containing(address);
  }
  if (home == nullptr || address - home->base > ~std::uint32_t{0}) {
    throw error("async", no_rank, fmt::format("the function at {:#x} belongs to no module of the program", address),
                "pass a function that was compiled into the program or a shared library of it");
  }
  return {.module = home->hash, .offset = static_cast<std::uint32_t>(address - home->base)};
}

code_map::function code_map::decode(code_address address) {
  const module* home = named(address.module);
  if (home == nullptr) {
    scan();
    home = named(address.module);
  }
  const std::uintptr_t code = home == nullptr ? 0 : home->base + address.offset;
  const module* const there = containing(code);
  if (there == nullptr || there->hash != address.module) {
    throw error("async", no_rank,
                fmt::format("a call arrived for module {:#010x}, offset {:#x}, which this program does not have",
                            address.module, address.offset),
                "run the same build of the program, with the same libraries, on all ranks");
  }
  return reinterpret_cast<function>(code);
}

}  // namespace amity
