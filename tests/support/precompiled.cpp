/// Carries the flags that the header is compiled with.

#include "tests/support/precompiled.hpp"
