// What Swift cannot say for itself: the processor's checksum instruction and one Linux call.
#ifndef CTREERING_H
#define CTREERING_H

#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli) of `count` bytes, continuing from `seed` (0 to begin). The processor's
// instruction where it has one, tables otherwise; both give the same answer.
uint32_t treering_crc32c(uint32_t seed, const void *bytes, size_t count);

/// Asks the processor to bring the cache line of `address` nearer; never faults.
static inline void treering_prefetch(const void *address) { __builtin_prefetch(address); }

// The same from tables only; for tests and for processors without the instruction.
uint32_t treering_crc32c_software(uint32_t seed, const void *bytes, size_t count);

// Reserves `count` bytes from `offset` on and lets the file grow to hold them; they read as zero.
// Returns 0, or an errno value. ENOTSUP where the system or file system cannot.
int treering_allocate(int descriptor, uint64_t offset, uint64_t count);

// Begins to watch the file of a name for changes. Returns a descriptor, and in `watch` what cancels it; -1
// with errno where the system cannot.
int treering_watch_open(const char *path, int *watch);

// Waits until the file has been changed since the call before, at most so long. Returns 1 if it has, 0 if
// not, -1 if the file is not watched any more: it was removed or moved, or the watch cancelled.
int treering_watch_wait(int descriptor, int milliseconds);

// Ends a watch, and the wait of another thread for it. The descriptor stays open.
void treering_watch_cancel(int descriptor, int watch);

#endif
