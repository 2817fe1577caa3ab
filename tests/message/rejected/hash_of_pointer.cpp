#include "amity/message/address.hpp"

auto use(const amity::hash_map& map, const int* key) { return map(key); }
