/* Included in front of a program: an OpenSHMEM in which PE 1 alone does not map the memory of PE 0. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int pshmem_my_pe(void);
void* pshmem_ptr(const void* address, int pe);
void* pshmem_ptr(const void* address, int pe) {
  void* (*const other_library)(const void*, int) = (void* (*)(const void*, int))dlsym(RTLD_NEXT, "pshmem_ptr");
  return pe == 0 && pshmem_my_pe() == 1 ? NULL : other_library(address, pe);
}
