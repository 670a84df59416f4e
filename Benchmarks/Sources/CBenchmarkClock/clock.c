#include "CBenchmarkClock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t benchmark_thread_nanoseconds(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

uint64_t benchmark_wall_nanoseconds(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t benchmark_written_bytes(void) {
  FILE *file = fopen("/proc/self/io", "r");
  if (!file) return 0;
  char line[128];
  unsigned long long bytes = 0;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "wchar: %llu", &bytes) == 1) break;
  fclose(file);
  return bytes;
}

int benchmark_sync(int descriptor) {
#ifdef __APPLE__
  return fcntl(descriptor, F_FULLFSYNC);
#else
  return fdatasync(descriptor);
#endif
}

int benchmark_open_zeros(const char *path, size_t size) {
  static const char zeros[1 << 16];
  int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (descriptor < 0) return -1;
  int failed = 0;
  for (size_t done = 0; done < size && !failed; done += sizeof zeros)
    failed = pwrite(descriptor, zeros, sizeof zeros, (off_t)done) != sizeof zeros;
  if (!failed && benchmark_sync(descriptor) == 0) return descriptor;
  close(descriptor);
  return -1;
}

double benchmark_sync_loop(const char *path, int size, int count) {
  char *block = malloc((size_t)size);
  int descriptor = block ? benchmark_open_zeros(path, (size_t)size * (size_t)count) : -1;
  if (descriptor < 0) {
    free(block);
    return -1;
  }
  memset(block, 42, (size_t)size);
  uint64_t start = benchmark_wall_nanoseconds();
  int failed = 0;
  for (int i = 0; i < count && !failed; i++)
    failed = pwrite(descriptor, block, (size_t)size, (off_t)i * size) != size ||
             benchmark_sync(descriptor) != 0;
  uint64_t end = benchmark_wall_nanoseconds();
  free(block);
  close(descriptor);
  unlink(path);
  return failed ? -1 : (double)(end - start) / 1e9;
}

__attribute__((noinline)) void benchmark_measured(void (*body)(void *), void *context) {
  body(context);
}
