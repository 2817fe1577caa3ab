/// A registered function's address as a word: what it names is found again, also in libraries that are loaded later;
/// anything else is an error.

#include "amity/base/code_address.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "tests/support/errors.hpp"

namespace amity {
namespace {

using function = code_map::function;

std::uintptr_t number_of(function code) { return reinterpret_cast<std::uintptr_t>(code); }

struct close_library {
  void operator()(void* library) const { ::dlclose(library); }
};
using library = std::unique_ptr<void, close_library>;

library open_library(const char* path) {
  library opened(::dlopen(path, RTLD_NOW | RTLD_LOCAL));
  EXPECT_NE(opened, nullptr) << ::dlerror();
  return opened;
}

function function_of(const library& from) { return reinterpret_cast<function>(::dlsym(from.get(), "answer")); }
int call(function code) { return reinterpret_cast<int (*)()>(code)(); }

void in_this_program() {}
void in_this_program_too() {}

const registered_function own(&in_this_program);

TEST(code_address, function_of_program_found) {
  code_map source, target;
  const code_address address = source.encode(own);
  EXPECT_EQ(target.decode(address), &in_this_program);
  EXPECT_EQ(source.decode(address), &in_this_program);
  EXPECT_EQ(target.encode(own), address);
}

TEST(code_address, function_of_library_found) {
  code_map source, target;
  const auto from_libc = reinterpret_cast<function>(&::getpid);
  const registered_function registered(from_libc);
  const code_address address = source.encode(registered);
  EXPECT_EQ(target.decode(address), from_libc);
  EXPECT_NE(address.module, source.encode(own).module);
}

TEST(code_address, function_of_library_loaded_later_found) {
  code_map source, target;
  const code_address known = source.encode(own);
  static_cast<void>(target.decode(known));
  const library later = open_library(CODE_LIBRARY);
  const registered_function registered(function_of(later));
  const code_address address = source.encode(registered);
  EXPECT_EQ(call(target.decode(address)), 42);
  EXPECT_EQ(target.decode(known), &in_this_program);
}

// A linker can be told to leave build ids out: then name and size tell libraries apart.
TEST(code_address, libraries_without_build_id_differ) {
  const library one = open_library(CODE_LIBRARY_WITHOUT_ID);
  const library other = open_library(OTHER_CODE_LIBRARY_WITHOUT_ID);
  const registered_function of_one(function_of(one)), of_other(function_of(other));
  code_map source, target;
  const code_address in_one = source.encode(of_one);
  const code_address in_other = source.encode(of_other);
  EXPECT_NE(in_one.module, in_other.module);
  EXPECT_EQ(call(target.decode(in_one)), 42);
  EXPECT_EQ(call(target.decode(in_other)), 43);
}

TEST(code_address, function_outside_modules_rejected) {
  int on_the_stack = 0;
  const registered_function nowhere(reinterpret_cast<function>(reinterpret_cast<std::uintptr_t>(&on_the_stack)));
  code_map map;
  testing::expect_error([&] { map.encode(nowhere); },
                        {"is in no module of the program; pass a function that was compiled into the program"});
  EXPECT_EQ(map.decode(map.encode(own)), &in_this_program);  // other functions are not affected
}

TEST(code_address, unknown_module_rejected) {
  code_map map;
  EXPECT_EQ(testing::error_of([&] { map.decode({.module = 0x12345678, .offset = 0x10}); }),
            "amity: async: a call arrived for a function that this program has not registered: module 0x12345678, "
            "offset 0x10; run the same build of the program on all ranks, and load a library on all ranks before one "
            "of them calls its functions");
}

TEST(code_address, unregistered_function_rejected) {
  code_map source, target;
  std::optional<registered_function> registered;
  registered.emplace(&in_this_program_too);
  const code_address address = source.encode(*registered);
  EXPECT_EQ(target.decode(address), &in_this_program_too);
  registered.reset();  // as when its library is unloaded
  EXPECT_THROW(target.decode(address), error);
}

// Every address in the module of a registered function but the address of that function.
TEST(code_address, other_offsets_of_module_rejected) {
  code_map map;
  const code_address address = map.encode(own);
  const auto distance = number_of(&in_this_program_too) - number_of(&in_this_program);
  for (const std::uint32_t offset :
       {0u, address.offset - 1, address.offset + 1, address.offset + static_cast<std::uint32_t>(distance), ~0u}) {
    EXPECT_THROW(map.decode({.module = address.module, .offset = offset}), error) << offset;
  }
}

}  // namespace
}  // namespace amity
