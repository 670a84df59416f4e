// Waits for changes of a file (inotify).
#define _GNU_SOURCE
#include "CTreeRing.h"

#include <errno.h>
#include <unistd.h>

#if defined(__linux__)

#include <poll.h>
#include <sys/inotify.h>

int treering_watch_open(const char *path, int *watch) {
  int descriptor = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) return -1;
  *watch = inotify_add_watch(
      descriptor, path, IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW);
  if (*watch >= 0) return descriptor;
  int number = errno;
  close(descriptor);
  errno = number;
  return -1;
}

int treering_watch_wait(int descriptor, int milliseconds) {
  struct pollfd request = {.fd = descriptor, .events = POLLIN};
  if (poll(&request, 1, milliseconds) <= 0) return 0;
  char events[4096] __attribute__((aligned(8)));
  int result = 1;
  ssize_t count;
  while ((count = read(descriptor, events, sizeof events)) > 0) {
    for (char *next = events; next < events + count;) {
      struct inotify_event *event = (struct inotify_event *)next;
      if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT)) result = -1;
      next += sizeof *event + event->len;
    }
    if (result < 0) break;
  }
  return result;
}

void treering_watch_cancel(int descriptor, int watch) { inotify_rm_watch(descriptor, watch); }

#else

int treering_watch_open(const char *path, int *watch) {
  (void)path, (void)watch;
  errno = ENOTSUP;
  return -1;
}

int treering_watch_wait(int descriptor, int milliseconds) {
  (void)descriptor, (void)milliseconds;
  return -1;
}

void treering_watch_cancel(int descriptor, int watch) { (void)descriptor, (void)watch; }

#endif
