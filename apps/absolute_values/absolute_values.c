/* Sums of absolute values by active messages on a window: out[i] = abs(in[i]) + abs(window[i]).
 *
 * Each rank sends one message to each rank. A segment has as many numbers as the window, and the handler gets one or
 * more of them. All results are compared with sums that the origin computes itself. */

#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <mpix_am.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
  int values; /* in a segment */
  int segments;
  int rounds;
  long buffer_bytes; /* of each rank, for messages that do not fit the system buffer */
};

struct messages {
  struct options options;
  int rank, ranks;
  MPI_Win win;
  int* window;
  void* buffer;
  MPIX_Am_op op;
  int* in;  /* for each rank */
  int* out; /* of each rank */
};

/* A number of any sign, different for each rank. */
static int number_of(int rank, size_t i) {
  return (int)((i * 2654435761u + (size_t)rank * 40503u) % 2000003u) - 1000001;
}

/* The handler. */
static void add_absolute(const void* input, int input_count, MPI_Datatype input_type, void* window, int window_count,
                         MPI_Datatype window_type, void* output, int output_count, MPI_Datatype output_type,
                         int segments) {
  (void)input_type, (void)window_count, (void)window_type, (void)output_type;
  const int* const in = input;
  const int* const added = window;
  int* const out = output;
  for (ptrdiff_t s = 0; s < segments; ++s) {
    for (int i = 0; i < output_count; ++i) out[s * output_count + i] = abs(in[s * input_count + i]) + abs(added[i]);
  }
}

static void* allocate(size_t count, size_t bytes) {
  void* const memory = calloc(count > 0 ? count : 1, bytes);
  if (memory == NULL) {
    fprintf(stderr, "absolute_values: cannot allocate %zu elements of %zu bytes; use fewer segments\n", count, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static size_t values_per_message(const struct options* options) {
  return (size_t)options->values * (size_t)options->segments;
}

static struct messages prepare(const struct options* options) {
  struct messages m = {.options = *options};
  MPI_Comm_rank(MPI_COMM_WORLD, &m.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &m.ranks);
  MPI_Win_allocate(options->values * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &m.window,
                   &m.win);
  for (int i = 0; i < options->values; ++i) m.window[i] = number_of(m.rank, (size_t)i);
  if (options->buffer_bytes > 0) {
    m.buffer = allocate((size_t)options->buffer_bytes, 1);
    MPIX_Am_win_buffer_attach(m.buffer, options->buffer_bytes, m.win);
  }
  MPIX_Am_op_create(add_absolute, MPI_COMM_WORLD, &m.op);
  const size_t values = values_per_message(options) * (size_t)m.ranks;
  m.in = allocate(values, sizeof(int));
  m.out = allocate(values, sizeof(int));
  for (size_t i = 0; i < values; ++i) m.in[i] = number_of(m.rank + 1, i + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  return m;
}

static void release(struct messages* m) {
  MPIX_Am_op_free(&m->op);
  MPI_Win_free(&m->win);
  free(m->buffer);
  free(m->in);
  free(m->out);
}

/* Sends a message to each rank, and waits for all output. */
static void send_messages(struct messages* m) {
  const int values = m->options.values;
  const size_t stride = values_per_message(&m->options);
  MPI_Win_lock_all(0, m->win);
  for (int i = 1; i <= m->ranks; ++i) {
    const int target = (m->rank + i) % m->ranks;
    MPIX_Am(m->in + (size_t)target * stride, values, MPI_INT, m->out + (size_t)target * stride, values, MPI_INT,
            m->options.segments, target, values, MPI_INT, 0, values, MPI_INT, values, MPI_INT, m->op, m->win);
  }
  MPI_Win_unlock_all(m->win);
}

/* Counts wrong results of this rank, and clears all results. */
static long long count_wrong(struct messages* m) {
  long long wrong = 0;
  const size_t stride = values_per_message(&m->options);
  for (size_t i = 0; i < stride * (size_t)m->ranks; ++i) {
    const int added = number_of((int)(i / stride), i % stride % (size_t)m->options.values);
    wrong += m->out[i] != abs(m->in[i]) + abs(added);
    m->out[i] = 0;
  }
  return wrong;
}

/* Returns whether all results are right. */
static bool run(struct messages* m) {
  long long wrong = 0;
  double seconds = 0;
  for (int round = 0; round < m->options.rounds; ++round) {
    const double begin = MPI_Wtime();
    send_messages(m);
    seconds += MPI_Wtime() - begin;
    wrong += count_wrong(m);
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPIX_Am_counters counters;
  MPIX_Am_win_get_counters(m->win, (m->rank + 1) % m->ranks, &counters);
  if (m->rank == 0) {
    const double values = (double)values_per_message(&m->options) * m->options.rounds * m->ranks * m->ranks;
    printf("%.0f sums in %.3f s, %.1f million/s; rank 0 to the next rank: %llu messages, %llu units, %llu requests\n",
           values, seconds, values / seconds / 1e6, counters.messages, counters.units, counters.handshakes);
    if (wrong > 0) printf("WRONG: %lld sums\n", wrong);
    if (wrong == 0) puts("right");
  }
  return wrong == 0;
}

static long parse_number(const char* name, long min, long max, bool is_root, int* status) {
  char* end = NULL;
  errno = 0;
  const long value = strtol(optarg, &end, 10);
  if (errno != 0 || end == optarg || *end != '\0' || value < min || value > max) {
    if (is_root)
      fprintf(stderr, "absolute_values: --%s: '%s'; pass a number from %ld to %ld\n", name, optarg, min, max);
    *status = 2;
  }
  return value;
}

/* Sets the status if an option is wrong. */
static struct options parse_options(int argc, char** argv, bool is_root, int* status) {
  static const struct option names[] = {{"values", required_argument, NULL, 'v'},
                                        {"segments", required_argument, NULL, 's'},
                                        {"rounds", required_argument, NULL, 'r'},
                                        {"buffer", required_argument, NULL, 'b'},
                                        {0}};
  struct options options = {.values = 100, .segments = 1000, .rounds = 10, .buffer_bytes = 1 << 25};
  opterr = 0; /* every rank would print the error */
  int option;
  while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
    if (option == 'v') options.values = (int)parse_number("values", 1, 1 << 20, is_root, status);
    if (option == 's') options.segments = (int)parse_number("segments", 0, 1 << 20, is_root, status);
    if (option == 'r') options.rounds = (int)parse_number("rounds", 1, 1 << 20, is_root, status);
    if (option == 'b') options.buffer_bytes = parse_number("buffer", 0, 1L << 40, is_root, status);
    if (option == '?') break;
  }
  if (option == '?' || optind < argc) {
    if (is_root) {
      fprintf(stderr,
              "absolute_values: %s is not an option with a value; pass --values, --segments, --rounds or --buffer, "
              "each with a number\n",
              option == '?' ? argv[optind - 1] : argv[optind]);
    }
    *status = 2;
  }
  return options;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const struct options options = parse_options(argc, argv, rank == 0, &status);
  if (status == 0) {
    struct messages messages = prepare(&options);
    status = run(&messages) ? 0 : 1;
    release(&messages);
  }
  MPI_Finalize();
  return status;
}
