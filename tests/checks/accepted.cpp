#include <type_traits>

static_assert(std::is_trivially_copyable_v<int>, "make the type trivially copyable");
