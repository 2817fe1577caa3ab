#include "apps/sequence_search/sequences.h"

#include <ctype.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/text_input.h"

#define BROADCAST_BYTES_MAX ((size_t)1 << 30)

size_t bases_of(const struct sequences* sequences) {
  return sequences->begins ? sequences->begins[sequences->count] : 0;
}

/* Begins a sequence without bases. Its name ends at the first space of the line. */
static void begin_sequence(struct sequences* to, const struct line* line) {
  if (to->count == to->capacity) {
    to->capacity = 2 * to->capacity + 16;
    to->begins = reallocate(to->begins, to->capacity + 1, sizeof *to->begins);
    to->names = reallocate(to->names, to->capacity, sizeof *to->names);
    if (to->count == 0) to->begins[0] = 0;
  }
  const size_t length = strcspn(line->text + 1, " \t");
  char* const name = allocate(length + 1, 1);
  memcpy(name, line->text + 1, length);
  to->names[to->count++] = name;
  to->begins[to->count] = to->begins[to->count - 1];
}

/* Appends bases to the last sequence. */
static bool append_bases(struct sequences* to, const struct line* line, const char* path, struct problem* problem) {
  for (size_t i = 0; i < line->length; ++i) {
    const unsigned char letter = (unsigned char)line->text[i];
    if (!isalpha(letter) && letter != '-' && letter != '*') {
      return fail(problem, "%s:%zu: character %zu of the sequence has the code %d; use letters for bases", path,
                  line->number, i + 1, letter);
    }
  }
  size_t* const end = &to->begins[to->count];
  if (*end + line->length > to->bases_capacity) {
    to->bases_capacity = 2 * (*end + line->length);
    to->bases = reallocate(to->bases, to->bases_capacity, 1);
  }
  memcpy(to->bases + *end, line->text, line->length);
  *end += line->length;
  return true;
}

static bool read_fasta(struct sequences* to, struct text_input* text, const char* path, size_t count_max,
                       struct problem* problem) {
  struct line line;
  size_t count = 0;
  while (next_line(text, &line, problem)) {
    if (line.length == 0) continue;
    if (line.text[0] != '>') {
      if (!append_bases(to, &line, path, problem)) return false;
    } else {
      if (count++ == count_max) break;
      begin_sequence(to, &line);
    }
  }
  return !problem->is_set;
}

/* Records of four lines: @NAME, bases, +, and a quality for each base. */
static bool read_fastq(struct sequences* to, struct text_input* text, const char* path, size_t count_max,
                       struct problem* problem) {
  struct line line;
  for (size_t i = 0; i < count_max && next_line(text, &line, problem); ++i) {
    if (line.length == 0) continue;
    if (line.text[0] != '@') {
      return fail(problem, "%s:%zu: a record begins with '%c'; begin it with @NAME", path, line.number, line.text[0]);
    }
    begin_sequence(to, &line);
    if (!next_line(text, &line, problem)) {
      return fail(problem, "%s: the last record has no bases; pass a complete file", path);
    }
    if (!append_bases(to, &line, path, problem)) return false;
    const size_t bases = line.length;
    if (!next_line(text, &line, problem) || line.text[0] != '+') {
      return fail(problem, "%s:%zu: line 3 of a record does not begin with '+'; use four lines for each record", path,
                  line.number);
    }
    if (!next_line(text, &line, problem) || line.length != bases) {
      return fail(problem, "%s:%zu: a record has %zu bases and another number of qualities; pass a complete file", path,
                  line.number, bases);
    }
  }
  return !problem->is_set;
}

bool read_sequences(struct sequences* to, const char* path, size_t count_max, struct problem* problem) {
  struct text_input* const text = open_text(path, problem);
  if (text == NULL) return false;
  const int first = next_character(text, problem);
  bool is_read = false;
  if (first == '>') {
    is_read = read_fasta(to, text, path, count_max, problem);
  } else if (first == '@') {
    is_read = read_fastq(to, text, path, count_max, problem);
  } else {
    fail(problem,
         "%s: the file begins with code %d, and not with '>' (FASTA) or '@' (FASTQ); pass such a file, or "
         "ARCHIVE:FILE for a file in a tar archive",
         path, first);
  }
  close_text(text);
  return is_read;
}

static void broadcast_bytes(void* memory, size_t bytes) {
  for (size_t begin = 0; begin < bytes; begin += BROADCAST_BYTES_MAX) {
    const size_t part = bytes - begin < BROADCAST_BYTES_MAX ? bytes - begin : BROADCAST_BYTES_MAX;
    MPI_Bcast((char*)memory + begin, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

void broadcast_sequences(struct sequences* sequences) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  broadcast_bytes(&sequences->count, sizeof sequences->count);
  if (sequences->count == 0) return;
  if (rank != 0) sequences->begins = allocate(sequences->count + 1, sizeof *sequences->begins);
  broadcast_bytes(sequences->begins, (sequences->count + 1) * sizeof *sequences->begins);
  if (rank != 0) sequences->bases = allocate(bases_of(sequences), 1);
  broadcast_bytes(sequences->bases, bases_of(sequences));
}

void free_sequences(struct sequences* sequences) {
  for (size_t i = 0; sequences->names && i < sequences->count; ++i) free(sequences->names[i]);
  free(sequences->names);
  free(sequences->begins);
  free(sequences->bases);
  *sequences = (struct sequences){0};
}
