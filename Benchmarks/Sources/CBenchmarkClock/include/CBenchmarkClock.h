// Clocks and counters of the system that benchmarks read.
#include <stdint.h>

/// Processor time of the calling thread, in nanoseconds.
uint64_t benchmark_thread_nanoseconds(void);
/// Wall-clock time from some fixed point, in nanoseconds.
uint64_t benchmark_wall_nanoseconds(void);
/// Bytes this process has passed to write calls; 0 where the system does not count them.
uint64_t benchmark_written_bytes(void);
/// Appends `count` blocks of `size` bytes to a new file and syncs after each; seconds, negative if
/// it failed. This is the most a log can do that syncs every commit by itself.
double benchmark_sync_loop(const char *path, int size, int count);
