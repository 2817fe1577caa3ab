#include "apps/sequence_search/text_input.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES 65536
#define TAR_BLOCK_BYTES 512

struct text_input {
  gzFile file;
  char* path;
  uint64_t left; /* bytes of the text that have not been read from the file */
  char buffer[BUFFER_BYTES];
  size_t begin, end; /* of what the buffer has */
  char* line;
  size_t line_capacity;
  size_t line_number;
};

/* Reads up to `bytes`. Returns the number of bytes, which is smaller at the end and after an error. */
static size_t read_bytes(struct text_input* text, void* to, size_t bytes, struct problem* problem) {
  const int got = gzread(text->file, to, (unsigned)bytes);
  if (got == (int)bytes) return bytes;
  int code = Z_OK;
  const char* const message = gzerror(text->file, &code);
  if (code != Z_OK && code != Z_STREAM_END) {
    fail(problem, "%s: reading failed: %s; check that the file is complete", text->path,
         code == Z_ERRNO ? strerror(errno) : message);
  }
  return got > 0 ? (size_t)got : 0;
}

static void refill(struct text_input* text, struct problem* problem) {
  const size_t wanted = text->left < BUFFER_BYTES ? (size_t)text->left : BUFFER_BYTES;
  text->begin = 0;
  text->end = wanted > 0 ? read_bytes(text, text->buffer, wanted, problem) : 0;
  text->left = text->end < wanted ? 0 : text->left - text->end;
}

int next_character(struct text_input* text, struct problem* problem) {
  if (text->begin == text->end) refill(text, problem);
  return text->begin < text->end ? (unsigned char)text->buffer[text->begin] : -1;
}

static void append(struct text_input* text, size_t length, const char* from, size_t bytes) {
  if (length + bytes + 1 > text->line_capacity) {
    text->line_capacity = 2 * (length + bytes + 1);
    text->line = reallocate(text->line, text->line_capacity, 1);
  }
  memcpy(text->line + length, from, bytes);
}

bool next_line(struct text_input* text, struct line* line, struct problem* problem) {
  if (next_character(text, problem) < 0) return false;
  size_t length = 0;
  bool is_complete = false;
  while (!is_complete && next_character(text, problem) >= 0) {
    const char* const from = text->buffer + text->begin;
    const char* const newline = memchr(from, '\n', text->end - text->begin);
    const size_t bytes = newline ? (size_t)(newline - from) : text->end - text->begin;
    append(text, length, from, bytes);
    length += bytes;
    text->begin += bytes + (newline ? 1 : 0);
    is_complete = newline != NULL;
  }
  if (length > 0 && text->line[length - 1] == '\r') --length;
  append(text, length, "", 0);
  text->line[length] = '\0';
  *line = (struct line){.text = text->line, .length = length, .number = ++text->line_number};
  return !problem->is_set;
}

/* Skips what precedes the file `member` of a tar archive, and limits the text to it. */
static bool find_member(struct text_input* text, const char* member, struct problem* problem) {
  char header[TAR_BLOCK_BYTES];
  while (read_bytes(text, header, sizeof header, problem) == sizeof header && header[0] != '\0') {
    char name[101], size[13];
    memcpy(name, header, 100);
    memcpy(size, header + 124, 12);
    name[100] = size[12] = '\0';
    const uint64_t bytes = strtoull(size, NULL, 8);
    if (strcmp(name, member) == 0) {
      text->left = bytes;
      return true;
    }
    const uint64_t blocks = (bytes + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES;
    if (gzseek(text->file, (z_off_t)(blocks * TAR_BLOCK_BYTES), SEEK_CUR) < 0) break;
  }
  return fail(problem, "%s: the archive has no file '%s'; list its files with tar tf", text->path, member);
}

static struct text_input* open_file(const char* path, struct problem* problem) {
  const gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    fail(problem, "cannot open '%s': %s; pass a FASTA or FASTQ file, which may be compressed with gzip", path,
         strerror(errno));
    return NULL;
  }
  struct text_input* const text = allocate(1, sizeof *text);
  text->file = file;
  text->path = allocate(strlen(path) + 1, 1);
  strcpy(text->path, path);
  text->left = UINT64_MAX;
  return text;
}

struct text_input* open_text(const char* path, struct problem* problem) {
  const char* const colon = strrchr(path, ':');
  if (colon == NULL || access(path, F_OK) == 0) return open_file(path, problem);
  char* const archive = allocate(strlen(path) + 1, 1);
  memcpy(archive, path, (size_t)(colon - path));
  struct text_input* text = open_file(archive, problem);
  if (text != NULL && !find_member(text, colon + 1, problem)) {
    close_text(text);
    text = NULL;
  }
  free(archive);
  return text;
}

void close_text(struct text_input* text) {
  if (text == NULL) return;
  gzclose(text->file);
  free(text->path);
  free(text->line);
  free(text);
}
