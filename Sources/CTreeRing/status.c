// The status of files, without their times. Since Linux 6.13 a file whose modification time has
// been asked for gets an exact new one at its next write, instead of the time of the clock's last
// tick. On ext4 the next sync takes longer then, even that of another file (docs/format.md, "Costs").
#define _GNU_SOURCE
#include "CTreeRing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/sysmacros.h>
#endif

static int status_with_times(
    int descriptor, const char *path, bool follows, treering_file_status *status) {
  struct stat result;
  int failure = path == NULL ? fstat(descriptor, &result)
                : follows    ? stat(path, &result)
                             : lstat(path, &result);
  if (failure != 0) return errno;
  *status = (treering_file_status){
      .device = (uint64_t)result.st_dev,
      .inode = (uint64_t)result.st_ino,
      .byteCount = (uint64_t)result.st_size,
      .linkCount = (uint64_t)result.st_nlink,
      .mode = (uint32_t)result.st_mode,
  };
  return 0;
}

static int status_of(
    int descriptor, const char *path, bool follows, treering_file_status *status) {
#if defined(__linux__) && defined(STATX_BASIC_STATS)
  struct statx result;
  unsigned mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_INO | STATX_SIZE;
  int flags = path == NULL ? AT_EMPTY_PATH : follows ? 0 : AT_SYMLINK_NOFOLLOW;
  if (statx(descriptor, path == NULL ? "" : path, flags, mask, &result) == 0) {
    *status = (treering_file_status){
        .device = (uint64_t)makedev(result.stx_dev_major, result.stx_dev_minor),
        .inode = result.stx_ino,
        .byteCount = result.stx_size,
        .linkCount = result.stx_nlink,
        .mode = result.stx_mode,
    };
    return 0;
  }
  // Some sandboxes refuse the call.
  if (errno != ENOSYS && errno != EPERM) return errno;
#endif
  return status_with_times(descriptor, path, follows, status);
}

int treering_status_of_descriptor(int descriptor, treering_file_status *status) {
  return status_of(descriptor, NULL, false, status);
}

int treering_status_of_path(const char *path, bool follows, treering_file_status *status) {
  return status_of(AT_FDCWD, path, follows, status);
}
