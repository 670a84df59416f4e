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

// A word of memory that several processes share; `address` must be a multiple of eight.
static inline uint64_t treering_load(const void *address) {
  return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
}
static inline void treering_store(void *address, uint64_t value) {
  __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

// Reserves `count` bytes from `offset` on and lets the file grow to hold them; they read as zero.
// Returns 0, or an errno value. ENOTSUP where the system or file system cannot.
int treering_allocate(int descriptor, uint64_t offset, uint64_t count);

#endif
