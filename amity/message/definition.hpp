#pragma once

/// The definition of a message type, which ranks compare: what they make in one order must be the same type.
///
/// It has the size of a message, the type of the handler (each lambda has one of its own), and the types of the
/// policies. The values of policies are not in it: each rank may have its own, as another bound of `coalesce`.

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "amity/message/codec.hpp"
#include "amity/message/type_name.hpp"

namespace amity::detail {

/// The name of a type that tells lambdas of one function apart. Readable; compilers without run time type information
/// give all of these the same.
std::string readable_name(const char* mangled);
/// "function at 0x1234 of a module": the same in each process of a program, but not for two functions.
std::string name_of_function(void (*function)());

template <class Value>
std::string definition_name() {
#ifdef __cpp_rtti
  return readable_name(typeid(Value).name());
#else
  return std::string(type_name<Value>());
#endif
}

template <class Handler>
std::string handler_name(const Handler& handler) {
  if constexpr (std::is_pointer_v<Handler> && std::is_function_v<std::remove_pointer_t<Handler>>) {
    return name_of_function(reinterpret_cast<void (*)()>(handler));
#ifdef __cpp_rtti
  } else if constexpr (requires { handler.target_type().name(); }) {
    return readable_name(handler.target_type().name());
#endif
  } else {
    return definition_name<Handler>();
  }
}

/// `bytes` of a message; 0: they vary.
std::string join_definition(std::size_t bytes, std::string_view handler, std::initializer_list<std::string> policies);

template <class Value, class Handler, class... Policies>
std::string definition_of(const Handler& handler) {
  std::size_t bytes = 0;
  if constexpr (plain<Value>) bytes = sizeof(Value);
  return join_definition(bytes, handler_name(handler), {definition_name<Policies>()...});
}

}  // namespace amity::detail
