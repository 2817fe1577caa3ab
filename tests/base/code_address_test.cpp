/// A function's address as a word: what it names is found again, also in libraries that come later; anything else is
/// an error.

#include "amity/base/code_address.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"

namespace amity {
namespace {

using function = code_map::function;

std::uintptr_t number_of(function code) { return reinterpret_cast<std::uintptr_t>(code); }
function function_at(std::uintptr_t address) { return reinterpret_cast<function>(address); }

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

std::string failure_of(const auto& attempt) {
  try {
    attempt();
  } catch (const error& mistake) {
    return mistake.what();
  }
  return "";
}

TEST(code_address, a_function_of_the_program) {
  code_map source, target;
  const code_address address = source.encode(&in_this_program);
  EXPECT_EQ(target.decode(address), &in_this_program);
  EXPECT_EQ(source.decode(address), &in_this_program);
  EXPECT_EQ(target.encode(&in_this_program), address);
}

TEST(code_address, a_function_of_a_library) {
  code_map source, target;
  const auto from_libc = reinterpret_cast<function>(&::getpid);
  const code_address address = source.encode(from_libc);
  EXPECT_EQ(target.decode(address), from_libc);
  EXPECT_NE(address.module, source.encode(&in_this_program).module);
}

TEST(code_address, a_function_of_a_library_that_was_loaded_later) {
  code_map source, target;
  const code_address known = source.encode(&in_this_program);
  static_cast<void>(target.decode(known));
  const library later = open_library(CODE_LIBRARY);
  const code_address address = source.encode(function_of(later));
  EXPECT_EQ(call(target.decode(address)), 42);
  EXPECT_EQ(target.decode(known), &in_this_program);
}

// The linker may be told to leave build ids out: then name and size tell libraries apart.
TEST(code_address, libraries_without_build_id) {
  const library one = open_library(CODE_LIBRARY_WITHOUT_ID);
  const library other = open_library(OTHER_CODE_LIBRARY_WITHOUT_ID);
  code_map source, target;
  const code_address in_one = source.encode(function_of(one));
  const code_address in_other = source.encode(function_of(other));
  EXPECT_NE(in_one.module, in_other.module);
  EXPECT_EQ(call(target.decode(in_one)), 42);
  EXPECT_EQ(call(target.decode(in_other)), 43);
}

TEST(code_address, what_is_no_function_of_the_program_has_none) {
  code_map map;
  int on_the_stack = 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&on_the_stack);
  const std::string text = failure_of([&] { map.encode(function_at(address)); });
  EXPECT_NE(text.find("belongs to no module of the program; pass a function that was compiled into the program"),
            std::string::npos)
      << text;
  EXPECT_THROW(map.encode(nullptr), error);
}

TEST(code_address, an_unknown_module_is_an_error) {
  code_map map;
  EXPECT_EQ(failure_of([&] { map.decode({.module = 0x12345678, .offset = 0x10}); }),
            "amity: async: a call arrived for module 0x12345678, offset 0x10, which this program does not have; "
            "run the same build of the program, with the same libraries, on all ranks");
}

TEST(code_address, an_offset_outside_of_its_module_is_an_error) {
  const library loaded = open_library(CODE_LIBRARY);
  code_map map;
  const auto from_libc = reinterpret_cast<function>(&::getpid);
  // Of two libraries the lower one's offsets reach into the higher one.
  function low = function_of(loaded), high = from_libc;
  if (number_of(low) > number_of(high)) std::swap(low, high);
  code_address address = map.encode(low);
  ASSERT_LT(number_of(high) - number_of(low), 1u << 31);
  address.offset += static_cast<std::uint32_t>(number_of(high) - number_of(low));
  EXPECT_THROW(map.decode(address), error);

  code_address before_code = map.encode(&in_this_program);
  before_code.offset = 0;  // the headers, which are no code
  EXPECT_THROW(map.decode(before_code), error);
}

}  // namespace
}  // namespace amity
