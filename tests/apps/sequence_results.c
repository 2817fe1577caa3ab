/* The comparison of results in apps/sequence_search finds each difference, and names it. */

#include <stdlib.h>
#include <string.h>

#include "apps/sequence_search/sequential.h"
#include "tests/interop/check.h"

/* Whether the comparison finds a difference, and its text has both words. */
static int finds(const struct search_result* result, const struct search_result* expected,
                 const struct sequences* reads, const char* first, const char* second) {
  struct problem problem = {0};
  const bool are_equal = compare_results(result, expected, reads, "amv", &problem);
  return !are_equal && problem.is_set && strstr(problem.text, first) && strstr(problem.text, second);
}

int main(void) {
  char bases[] = "ACGTACGTTTACGTACGAACGTACGTAACCGG";
  char* names[] = {"first", "second"};
  size_t begins[] = {0, 16, 32};
  struct sequences sequences = {.bases = bases, .begins = begins, .names = names, .count = 2};
  const struct search_result expected = search_sequentially(&sequences, &sequences, 5, 4);
  struct search_result result = search_sequentially(&sequences, &sequences, 5, 4);
  struct problem problem = {0};
  CHECK(expected.reads[0].kmers == 12 && expected.reads[0].found == 12 && expected.reads[0].hits > 12);
  CHECK(compare_results(&result, &expected, &sequences, "amv", &problem) && !problem.is_set);

  uint32_t* const numbers[] = {&result.reads[1].kmers, &result.reads[1].found, &result.reads[1].hits};
  for (int i = 0; i < 3; ++i) {
    ++*numbers[i];
    CHECK(finds(&result, &expected, &sequences, "method amv: read 1 (second)", "the sequential index"));
    --*numbers[i];
  }
  ++result.checksum;
  CHECK(finds(&result, &expected, &sequences, "method amv: the checksum", "the sequential index"));
  free_result(&result);
  free(expected.reads);
  return 0;
}
