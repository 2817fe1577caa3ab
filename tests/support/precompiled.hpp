#pragma once

/// What most tests include; amity_test.cmake has it compiled once. Tests include what they use all the same. Nothing of
/// the tests' own is here: it would change what names mean, but only in builds that precompile headers.

#include <gtest/gtest.h>

#include "amity/amity.hpp"
