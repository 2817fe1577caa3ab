#include "apps/sequence_search/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/kmers.h"

#define REFERENCES_OF_DEBIAN "/usr/share/doc/ragout/examples/E.Coli/references/"
#define READS_OF_DEBIAN "/usr/share/doc/wtdbg2-examples/selfSampleData.tar.gz:selfSampleData/pacbio_filtered.fastq"

const char* const method_names[METHODS] = {"am", "amv", "get"};

void print_help(void) {
  puts(
      "Finds the k-mers of reads in reference genomes, whose k-mers are distributed over all ranks.\n"
      "\n"
      "usage: mpirun -n RANKS amity_sequence_search_MPI [options]\n"
      "  --reference FILE   reference genome; may be repeated (default: two strains of E. coli, Debian's\n"
      "                     package ragout-examples)\n"
      "  --reads-file FILE  reads (default: E. coli reads, Debian's package wtdbg2-examples)\n"
      "  --reads COUNT      number of reads, from the beginning of the file (default: 1000)\n"
      "  --method METHOD    am: active messages with output of fixed size; amv: with output of what was found;\n"
      "                     get: MPI_Get; all: one after the other (default: all)\n"
      "  --k BASES          bases of a k-mer, 4 to 31 (default: 21)\n"
      "  --positions COUNT  largest number of positions reported for a k-mer (default: 4)\n"
      "  --segment COUNT    k-mers in a segment of a message (default: 4)\n"
      "  --batch COUNT      k-mers that a rank looks up together (default: 2048)\n"
      "  --buffer BYTES     buffer of each rank for messages (default: what the batches of all ranks need)\n"
      "  --guarantee BYTES  part of the buffer that is guaranteed to each rank (default: 0)\n"
      "  --repeat COUNT     repetitions of each method; the median time counts (default: 1)\n"
      "  --check            compare the result with that of a sequential search\n"
      "  --output FILE      write a line for each read: name, k-mers, k-mers found, hits\n"
      "  --no-progress      no progress bar\n"
      "\n"
      "A FILE is in FASTA or FASTQ, and may be compressed with gzip. ARCHIVE:FILE is a file in a tar archive.");
}

enum {
  OPTION_REFERENCE = 256,
  OPTION_READS_FILE,
  OPTION_READS,
  OPTION_METHOD,
  OPTION_K,
  OPTION_POSITIONS,
  OPTION_SEGMENT,
  OPTION_BATCH,
  OPTION_BUFFER,
  OPTION_GUARANTEE,
  OPTION_REPEAT,
  OPTION_CHECK,
  OPTION_OUTPUT,
  OPTION_NO_PROGRESS,
  OPTION_HELP
};

static const struct option option_names[] = {{"reference", required_argument, NULL, OPTION_REFERENCE},
                                             {"reads-file", required_argument, NULL, OPTION_READS_FILE},
                                             {"reads", required_argument, NULL, OPTION_READS},
                                             {"method", required_argument, NULL, OPTION_METHOD},
                                             {"k", required_argument, NULL, OPTION_K},
                                             {"positions", required_argument, NULL, OPTION_POSITIONS},
                                             {"segment", required_argument, NULL, OPTION_SEGMENT},
                                             {"batch", required_argument, NULL, OPTION_BATCH},
                                             {"buffer", required_argument, NULL, OPTION_BUFFER},
                                             {"guarantee", required_argument, NULL, OPTION_GUARANTEE},
                                             {"repeat", required_argument, NULL, OPTION_REPEAT},
                                             {"check", no_argument, NULL, OPTION_CHECK},
                                             {"output", required_argument, NULL, OPTION_OUTPUT},
                                             {"no-progress", no_argument, NULL, OPTION_NO_PROGRESS},
                                             {"help", no_argument, NULL, OPTION_HELP},
                                             {0}};

static struct options defaults(void) {
  return (struct options){
      .references = {REFERENCES_OF_DEBIAN "MG1655-K12.fasta.gz", REFERENCES_OF_DEBIAN "DH1.fasta.gz"},
      .references_count = 2,
      .reads_file = READS_OF_DEBIAN,
      .reads_max = 1000,
      .methods = {true, true, true},
      .k = 21,
      .lookup = {.batch_kmers_max = 2048, .kmers_per_segment = 4, .positions_max = 4},
      .buffer_bytes = SIZE_MAX,
      .repetitions = 1,
      .show_progress = true};
}

static size_t parse_number(const char* name, size_t min, size_t max, struct problem* problem) {
  char* end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(optarg, &end, 10);
  if (optarg[0] < '0' || optarg[0] > '9' || *end != '\0') {
    fail(problem, "--%s: '%s' is not a number; pass a number from %zu to %zu", name, optarg, min, max);
  } else if (errno != 0 || value < min || value > max) {
    fail(problem, "--%s: %s is out of range; pass a number from %zu to %zu", name, optarg, min, max);
  }
  return (size_t)value;
}

static void parse_method(struct options* options, struct problem* problem) {
  bool is_known = strcmp(optarg, "all") == 0;
  for (int method = 0; method < METHODS; ++method) {
    const bool is_named = strcmp(optarg, method_names[method]) == 0;
    options->methods[method] = is_named || strcmp(optarg, "all") == 0;
    is_known = is_known || is_named;
  }
  if (!is_known) fail(problem, "--method: '%s' is unknown; pass am, amv, get or all", optarg);
}

static void add_reference(struct options* options, bool* is_first, struct problem* problem) {
  if (*is_first) options->references_count = 0;
  *is_first = false;
  if (options->references_count == REFERENCES_MAX) {
    fail(problem, "--reference: more than %d files; put several genomes into one file", REFERENCES_MAX);
    return;
  }
  options->references[options->references_count++] = optarg;
}

/* Returns false if the option does not have a number. */
static bool parse_count(int option, struct options* options, struct problem* problem) {
  struct lookup_options* const lookup = &options->lookup;
  const size_t bytes_max = (size_t)1 << 40;
  switch (option) {
    case OPTION_READS:
      options->reads_max = parse_number("reads", 1, (size_t)1 << 29, problem);
      return true;
    case OPTION_K:
      options->k = (int)parse_number("k", 4, KMER_BASES_MAX, problem);
      return true;
    case OPTION_POSITIONS:
      lookup->positions_max = (int)parse_number("positions", 1, 1000, problem);
      return true;
    case OPTION_SEGMENT:
      lookup->kmers_per_segment = (int)parse_number("segment", 1, 1000, problem);
      return true;
    case OPTION_BATCH:
      lookup->batch_kmers_max = parse_number("batch", 1, (size_t)1 << 24, problem);
      return true;
    case OPTION_BUFFER:
      options->buffer_bytes = parse_number("buffer", 0, bytes_max, problem);
      return true;
    case OPTION_GUARANTEE:
      options->guarantee_bytes = parse_number("guarantee", 0, bytes_max, problem);
      return true;
    case OPTION_REPEAT:
      options->repetitions = (int)parse_number("repeat", 1, 1000, problem);
      return true;
    default:
      return false;
  }
}

static void parse_option(int option, struct options* options, bool* is_first, struct problem* problem) {
  if (parse_count(option, options, problem)) return;
  switch (option) {
    case OPTION_REFERENCE:
      add_reference(options, is_first, problem);
      break;
    case OPTION_READS_FILE:
      options->reads_file = optarg;
      break;
    case OPTION_METHOD:
      parse_method(options, problem);
      break;
    case OPTION_OUTPUT:
      options->output = optarg;
      break;
    case OPTION_CHECK:
      options->check = true;
      break;
    case OPTION_NO_PROGRESS:
      options->show_progress = false;
      break;
    default:
      options->help = true;
  }
}

bool parse_options(int argc, char** argv, struct options* options, struct problem* problem) {
  *options = defaults();
  bool is_first_reference = true;
  opterr = 0; /* every rank would print the error */
  int option;
  while (!problem->is_set && (option = getopt_long(argc, argv, ":", option_names, NULL)) != -1) {
    if (option == ':') return fail(problem, "%s has no value; see --help", argv[optind - 1]);
    if (option == '?') return fail(problem, "%s: unknown option; see --help", argv[optind - 1]);
    parse_option(option, options, &is_first_reference, problem);
  }
  if (optind < argc) return fail(problem, "'%s' is not an option; see --help", argv[optind]);
  return !problem->is_set;
}
