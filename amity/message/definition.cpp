#include "amity/message/definition.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "amity/base/code_address.hpp"

namespace amity::detail {

std::string readable_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : mangled;
}

std::string name_of_function(void (*function)()) {
  const auto at = find_code_address(function);
  if (!at) return "function";  // generated at run time, possibly at another address on each rank
  return fmt::format("function {:#x} of module {:x}", at->offset, at->module);
}

std::string join_definition(std::size_t bytes, std::string_view handler, std::initializer_list<std::string> policies) {
  std::string text = bytes == 0 ? "encoded" : fmt::format("{} bytes", bytes);
  text += fmt::format(", handler {}", handler);
  for (const std::string& policy : policies) text += fmt::format(", {}", policy);
  return text;
}

}  // namespace amity::detail
