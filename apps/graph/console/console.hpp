#pragma once

/// Human-readable text on the standard streams.

#include <string_view>

namespace amity::apps::graph {

/// Prints a line to standard error. If that is full or closed, only the exit status can report.
void complain(std::string_view line);

/// Prints a report to standard output, or to standard error if data uses standard output. Throws `error` if it cannot
/// be written.
void print_text(std::string_view text, bool to_standard_error = false);

/// Whether something was lost that this process printed to standard error, which the user has not closed.
bool standard_error_failed();

}  // namespace amity::apps::graph
