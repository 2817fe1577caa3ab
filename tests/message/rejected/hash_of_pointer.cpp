// error: a pointer has another value on each rank: give what it refers to

#include "amity/message/address.hpp"

auto use(const amity::hash_map& map, const int* key) { return map(key); }
