// Calls that Swift cannot make: the processor's checksum and prefetch instructions, fallocate,
// statx, inotify and variables of a thread.
#ifndef CTREERING_H
#define CTREERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// CRC-32C (Castagnoli) of `count` bytes, continuing from `seed` (0 to begin). Uses the processor's
// instruction if it has one, otherwise tables.
uint32_t treering_crc32c(uint32_t seed, const void *bytes, size_t count);

// Prefetches the cache line of `address`. Any address is allowed.
static inline void treering_prefetch(const void *address) { __builtin_prefetch(address); }

// The number of the calling thread; 0 before `treering_thread_number` was first called on it.
extern _Thread_local uint32_t treering_known_thread_number;
uint32_t treering_make_thread_number(void);

// The number of the calling thread, never 0. Threads are numbered from 1 on, by their first call,
// so threads that run at once have different numbers, and neighbours adjacent ones.
static inline uint32_t treering_thread_number(void) {
  uint32_t known = treering_known_thread_number;
  return known ? known : treering_make_thread_number();
}

// The same checksum, always computed from tables; for tests.
uint32_t treering_crc32c_software(uint32_t seed, const void *bytes, size_t count);

// Reserves `count` bytes from `offset` on, which read as zero, and lengthens the file if necessary.
// Returns 0 or an errno value: ENOTSUP if the system or file system does not support it.
int treering_allocate(int descriptor, uint64_t offset, uint64_t count);

// Whether the file system keeps the blocks of a file when they are written again, as far as that is
// known: ext2 to ext4 and XFS do. False for a closed descriptor.
bool treering_overwrites_in_place(int descriptor);

// Gives the room of `count` bytes from `offset` on back to the device. They read as zero afterwards;
// the file keeps its length. Offset and count are multiples of the file system's block size. Returns
// 0 or an errno value: ENOTSUP if the system or file system does not support it.
int treering_release(int descriptor, uint64_t offset, uint64_t count);

// What a file is, without its times, since asking for those makes later syncs slower (status.c).
typedef struct {
  // These two identify the file as long as it exists.
  uint64_t device;
  uint64_t inode;
  uint64_t byteCount;
  // The number of its names.
  uint64_t linkCount;
  // Its type and permissions, as in `struct stat`.
  uint32_t mode;
} treering_file_status;

// The status of an open file. Returns 0 or an errno value.
int treering_status_of_descriptor(int descriptor, treering_file_status *status);

// The status of a file by its path; if `follows`, of the file that a symbolic link leads to, otherwise
// of the link. Returns 0 or an errno value.
int treering_status_of_path(const char *path, bool follows, treering_file_status *status);

// Begins to watch a file for changes. Returns a descriptor, and in `watch` the number with which to
// cancel the watch; -1, with errno set, if the system does not support it.
int treering_watch_open(const char *path, int *watch);

// Waits until the file has changed since the previous call, for at most `milliseconds`. Returns 1
// after a change, 0 after the time limit, and -1 if the watch has ended: the file was removed or
// moved, or the watch was cancelled.
int treering_watch_wait(int descriptor, int milliseconds);

// Cancels a watch, and so ends the wait of another thread. The descriptor stays open.
void treering_watch_cancel(int descriptor, int watch);

#endif
