#pragma once

/// Where the program of this process is.

#include <filesystem>

namespace amity {

/// The file that this process executes, as an absolute path; empty if the system does not reveal it. Without /proc it
/// is the path that the process was started by, which is only found in the directory where it was started.
std::filesystem::path program_file();

}  // namespace amity
