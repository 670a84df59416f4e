// The clocks and counters of the system that benchmarks read.
#include <stddef.h>
#include <stdint.h>

/// Processor time of the calling thread, in nanoseconds.
uint64_t benchmark_thread_nanoseconds(void);
/// Wall-clock time since a fixed point, in nanoseconds.
uint64_t benchmark_wall_nanoseconds(void);
/// Bytes that this process has passed to write calls; 0 if the system does not count them.
uint64_t benchmark_written_bytes(void);
/// Opens a new file of so many zeros, or a few more, which are written and synced. Returns its
/// descriptor, negative after a failure.
int benchmark_open_zeros(const char *path, size_t size);
/// Writes `count` blocks of `size` bytes one after the other over zeros, and syncs after each.
/// Returns the seconds taken, negative after a failure. No log that syncs every commit separately
/// can be faster.
double benchmark_sync_loop(const char *path, int size, int count);
/// The same in so many threads, which share syncs as the writers of a log with group commit do.
/// Returns the seconds taken, negative after a failure.
double benchmark_shared_sync_loop(const char *path, int size, int count, int threads);
/// Makes what was written to a file durable. Returns 0 if it is.
int benchmark_sync(int descriptor);
/// Calls a function. Programs that count instructions count those of this call.
void benchmark_measured(void (*body)(void *), void *context);
