// A library with a function for async: its code is in no program, only here.

#include "async_library.hpp"

extern "C" void send_from_library(amity::world& w, amity::rank_t dest, amity::shared<std::string> ear) {
  w.async(
      dest, [](std::string& here) { here += "library"; }, ear);
}
