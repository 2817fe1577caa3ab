#pragma once

/// What most tests include; amity_test.cmake has it compiled once. Tests include what they use all the same.

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "tests/support/worlds.hpp"
