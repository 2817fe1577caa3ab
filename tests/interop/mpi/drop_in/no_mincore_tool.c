/* A system without mincore, which says which memory a process has. */

#include <errno.h>
#include <stddef.h>

int mincore(void* address, size_t bytes, unsigned char* resident);
int mincore(void* address, size_t bytes, unsigned char* resident) {
  errno = ENOSYS;
  return -1;
}
