#include "amity/base/standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace amity {

void open_missing_standard_descriptors() noexcept {
  int fd;
  do fd = ::open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

}  // namespace amity
