// Reserves room in a file (fallocate), and says how its file system treats it.
#define _GNU_SOURCE
#include "CTreeRing.h"

#include <errno.h>
#include <fcntl.h>
#if defined(__linux__)
#include <linux/magic.h>
#include <sys/vfs.h>
#endif

int treering_allocate(int descriptor, uint64_t offset, uint64_t count) {
#if defined(__linux__)
  int result;
  do {
    result = fallocate(descriptor, 0, (off_t)offset, (off_t)count);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? ENOTSUP : errno;
#else
  (void)descriptor, (void)offset, (void)count;
  return ENOTSUP;
#endif
}

bool treering_overwrites_in_place(int descriptor) {
#if defined(__linux__)
  struct statfs status;
  if (fstatfs(descriptor, &status) != 0) return false;
  return status.f_type == EXT4_SUPER_MAGIC || status.f_type == XFS_SUPER_MAGIC;
#else
  (void)descriptor;
  return false;
#endif
}

int treering_release(int descriptor, uint64_t offset, uint64_t count) {
#if defined(__linux__)
  int result;
  do {
    result = fallocate(
        descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)count);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return 0;
  return errno == EOPNOTSUPP || errno == ENOSYS ? ENOTSUP : errno;
#elif defined(__APPLE__)
  struct fpunchhole hole = {0, 0, (off_t)offset, (off_t)count};
  return fcntl(descriptor, F_PUNCHHOLE, &hole) == 0 ? 0 : errno;
#else
  (void)descriptor, (void)offset, (void)count;
  return ENOTSUP;
#endif
}
