#include "amity/interop/shmem/handle_store.hpp"

#include <gtest/gtest.h>

#include <set>

namespace amity::shmem {
namespace {

// A handle that was destroyed is readable, and no other object gets it while few others are destroyed after it.
TEST(handle_store, keeps_destroyed_handles) {
  handle_store<int> store;
  int* const destroyed = store.create(7);
  store.destroy(destroyed);
  for (std::size_t i = 0; i < handle_store<int>::destroyed_max; ++i) {
    int* const other = store.create(8);
    ASSERT_NE(other, destroyed) << i;
    store.destroy(other);
  }
  EXPECT_EQ(*destroyed, 0);
}

// A program that creates and destroys all the time needs no more memory.
TEST(handle_store, is_bounded) {
  handle_store<int> store;
  std::set<int*> handles;
  for (int i = 0; i < 5000; ++i) {
    int* const made = store.create(i);
    EXPECT_EQ(*made, i);
    handles.insert(made);
    store.destroy(made);
  }
  EXPECT_LE(handles.size(), handle_store<int>::destroyed_max + 1);
}

}  // namespace
}  // namespace amity::shmem
