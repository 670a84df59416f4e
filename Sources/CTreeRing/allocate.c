// Reserves room in a file (fallocate).
#define _GNU_SOURCE
#include "CTreeRing.h"

#include <errno.h>
#include <fcntl.h>

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
