#include "amity/world/run.hpp"

int main(int argc, char** argv) {
  return amity::run(argc, argv, [] { return 0; });
}
