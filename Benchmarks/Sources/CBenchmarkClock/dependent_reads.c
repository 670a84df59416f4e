// Reads of memory that follow one another: the address of each is known only when the one before has
// ended, as on the way down a tree. They visit the cache lines of a block in one random cycle.
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "CBenchmarkClock.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE = 2 << 20 };

static uint64_t next_random(uint64_t *state) {
  *state += 0x9E3779B97F4A7C15u;
  uint64_t word = *state;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

double benchmark_dependent_read_nanoseconds(size_t bytes, int count) {
  size_t lines = bytes / LINE;
  if (lines < 2) return -1;
  void *block = NULL;
  if (posix_memalign(&block, HUGE, lines * LINE) != 0) return -1;
#ifdef MADV_HUGEPAGE
  madvise(block, lines * LINE, MADV_HUGEPAGE);
#endif
  // Each line begins with the number of the next one. Sattolo's shuffle makes a single cycle.
  uint64_t *words = block;
  size_t stride = LINE / sizeof *words;
  for (size_t line = 0; line < lines; line++) words[line * stride] = line;
  uint64_t state = 1;
  for (size_t line = lines - 1; line > 0; line--) {
    size_t other = next_random(&state) % line;
    uint64_t kept = words[line * stride];
    words[line * stride] = words[other * stride];
    words[other * stride] = kept;
  }
  uint64_t line = 0;
  uint64_t start = benchmark_thread_nanoseconds();
  for (int i = 0; i < count; i++) line = words[line * stride];
  uint64_t end = benchmark_thread_nanoseconds();
  // Used, so that the compiler keeps the loop.
  words[0] = line;
  volatile uint64_t kept = words[0];
  (void)kept;
  free(block);
  return (double)(end - start) / count;
}
