#pragma once

/// Standard input, output and error, which a process may be started without.

namespace amity {

/// Opens those that are missing: the next files opened would pass for them, and what the program prints would go there.
/// What is written to those that are opened here fails, as it would without them. Once in a process, before it opens
/// anything.
void open_missing_standard_descriptors() noexcept;

}  // namespace amity
