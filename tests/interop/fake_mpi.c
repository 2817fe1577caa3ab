/* A library that looks like an MPI: it returns the version VERSION, and is not the MPI of any module. */
#include <string.h>

int MPI_Get_library_version(char* text, int* length);

int MPI_Get_library_version(char* text, int* length) {
  strcpy(text, VERSION);
  *length = (int)strlen(text);
  return 0;
}
