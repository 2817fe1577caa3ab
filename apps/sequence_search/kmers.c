#include "apps/sequence_search/kmers.h"

static int code_of(char base) {
  switch (base) {
    case 'A':
    case 'a':
      return 0;
    case 'C':
    case 'c':
      return 1;
    case 'G':
    case 'g':
      return 2;
    case 'T':
    case 't':
      return 3;
    default:
      return -1;
  }
}

struct kmer_scan scan_kmers(const struct sequences* sequences, size_t sequence, int k) {
  const size_t begin = sequences->begins[sequence];
  return (struct kmer_scan){
      .bases = sequences->bases + begin, .length = sequences->begins[sequence + 1] - begin, .k = k};
}

bool next_kmer(struct kmer_scan* scan, uint64_t* kmer, size_t* begin) {
  const uint64_t mask = ((uint64_t)1 << (2 * scan->k)) - 1;
  const int first_bit = 2 * (scan->k - 1);
  while (scan->next < scan->length) {
    const int code = code_of(scan->bases[scan->next++]);
    if (code < 0) {
      scan->known = 0;
      continue;
    }
    scan->forward = (scan->forward << 2 | (uint64_t)code) & mask;
    scan->reverse = scan->reverse >> 2 | (uint64_t)(3 - code) << first_bit;
    if (scan->known < scan->k) ++scan->known;
    if (scan->known == scan->k) {
      *kmer = scan->forward < scan->reverse ? scan->forward : scan->reverse;
      *begin = scan->next - (size_t)scan->k;
      return true;
    }
  }
  return false;
}

uint64_t hash_of(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

int owner_of(uint64_t hash, int ranks) { return (int)((hash >> 32) * (uint64_t)ranks >> 32); }
