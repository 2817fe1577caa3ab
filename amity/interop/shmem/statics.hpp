#pragma once

/// The program's global and static variables as symmetric memory.
///
/// They lie in the writable segment of the executable, whose size and layout all PEs share, though its address may
/// differ. Variables of shared libraries are elsewhere, and stay private.

#include <cstddef>

#include "amity/interop/shmem/process.hpp"

namespace amity::shmem {

/// Whole pages of the executable's writable segment, without those that are read-only once relocated.
extent find_statics();

/// Puts the pages behind `shared` in the place of `statics`, with its contents. From then on both are the same memory.
/// `shared` is aligned to a page and lies in a mapping that can be shared. Throws `error`.
void replace_statics(const extent& statics, std::byte* shared);

}  // namespace amity::shmem
