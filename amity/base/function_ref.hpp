#pragma once

/// A reference to something that can be called, for functions that do with it before they return: they are compiled
/// once, whatever they are given, and nothing is allocated.

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace amity {

template <class Signature>
class function_ref;

/// Copies refer to the same object, which must outlive them all.
template <class Result, class... Args>
class function_ref<Result(Args...)> {
 public:
  template <class Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, function_ref> &&
           std::is_object_v<std::remove_reference_t<Callable>> && std::is_invocable_r_v<Result, Callable&, Args...>)
      function_ref(Callable&& callable)
  noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return static_cast<Result>(
              (*static_cast<std::remove_reference_t<Callable>*>(object))(std::forward<Args>(args)...));
        }) {
    static_assert(!std::is_integral_v<Result> || !std::is_floating_point_v<std::invoke_result_t<Callable&, Args...>>,
                  "amity: a whole number is asked for, and this function returns a floating-point one: let it return "
                  "a whole number");
  }

  Result operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

}  // namespace amity
