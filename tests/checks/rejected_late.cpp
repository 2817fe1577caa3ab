#include <string>
#include <type_traits>

static_assert(sizeof(std::string) == 1, "strings are larger");
static_assert(std::is_trivially_copyable_v<std::string>, "make the type trivially copyable");
