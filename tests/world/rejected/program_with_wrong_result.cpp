#include "amity/world/run.hpp"

int main(int argc, char** argv) {
  return amity::run(argc, argv, [](amity::world&) { return "done"; });
}
