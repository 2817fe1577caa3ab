#ifndef AMITY_APPS_SEQUENCE_SEARCH_TEXT_INPUT_H
#define AMITY_APPS_SEQUENCE_SEARCH_TEXT_INPUT_H

/* Lines of a text file, or of a file in a tar archive. Both may be compressed with gzip. */

#include <stdbool.h>
#include <stddef.h>

#include "apps/sequence_search/problem.h"

struct text_input;

struct line {
  char* text; /* without the end of the line; valid until the next line is read */
  size_t length;
  size_t number; /* of the file, from 1 */
};

/* Opens "FILE", or "ARCHIVE:MEMBER" if there is no such file. Returns NULL if that fails. */
struct text_input* open_text(const char* path, struct problem* problem);
void close_text(struct text_input* text);

/* Returns false at the end, and if reading fails: then `problem` is set. */
bool next_line(struct text_input* text, struct line* line, struct problem* problem);

/* The character that comes next, or -1. */
int next_character(struct text_input* text, struct problem* problem);

#endif
