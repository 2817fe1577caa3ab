#include "apps/graph/console/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "apps/graph/output/output_file.hpp"

namespace amity::apps::graph {

void complain(std::string_view line) { std::fputs(std::string(line).append("\n").c_str(), stderr); }

void print_text(std::string_view text, bool to_standard_error) {
  std::fflush(stdout);
  output_file stream =
      to_standard_error ? output_file(STDERR_FILENO, "standard error") : output_file(STDOUT_FILENO, "standard output");
  stream.write(text);
  stream.commit();
}

bool standard_error_failed() {
  // A closed descriptor was replaced by one that can only be read (open_missing_standard_descriptors).
  const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
  return std::ferror(stderr) != 0 && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace amity::apps::graph
