#pragma once

/// Standard input, output and error, which a process may be started without.

namespace amity {

/// Opens missing descriptors, for which the next open files would pass: output of the program would go there. Writes to
/// a descriptor that this call has opened fail, as they would without it. Call it once in a process, before it opens
/// a file.
void open_missing_standard_descriptors() noexcept;

}  // namespace amity
