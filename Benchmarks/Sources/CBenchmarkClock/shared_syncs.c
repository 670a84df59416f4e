// Synced writes of many threads that share syncs, with no engine: the queue of writers of LevelDB
// (DBImpl::Write). The thread at the front appends the blocks of all that wait, syncs, and wakes
// these threads and the next one to be at the front.
#include "CBenchmarkClock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct waiter {
  pthread_cond_t news;
  int done;
  struct waiter *next;
};

struct log {
  pthread_mutex_t mutex;
  struct waiter *front, *back;
  int descriptor;
  off_t end;
  size_t size;
  int count;
  char *blocks;
  atomic_int failed;
};

static void append(struct log *log, struct waiter *own) {
  own->done = 0;
  own->next = NULL;
  pthread_mutex_lock(&log->mutex);
  if (log->back) log->back->next = own;
  else log->front = own;
  log->back = own;
  while (!own->done && log->front != own) pthread_cond_wait(&own->news, &log->mutex);
  if (!own->done) {
    size_t bytes = 0;
    struct waiter *last = own;
    for (struct waiter *each = own; each; each = each->next) {
      bytes += log->size;
      last = each;
    }
    pthread_mutex_unlock(&log->mutex);
    if (pwrite(log->descriptor, log->blocks, bytes, log->end) != (ssize_t)bytes ||
        benchmark_sync(log->descriptor) != 0)
      log->failed = 1;
    log->end += (off_t)bytes;
    pthread_mutex_lock(&log->mutex);
    for (struct waiter *each = own; ; ) {
      struct waiter *next = each->next;
      int isLast = each == last;
      each->done = 1;
      if (each != own) pthread_cond_signal(&each->news);
      each = next;
      if (isLast) {
        log->front = next;
        if (!next) log->back = NULL;
        else pthread_cond_signal(&next->news);
        break;
      }
    }
  }
  pthread_mutex_unlock(&log->mutex);
}

static void *run(void *argument) {
  struct log *log = argument;
  struct waiter own;
  pthread_cond_init(&own.news, NULL);
  for (int i = 0; i < log->count && !log->failed; i++) append(log, &own);
  pthread_cond_destroy(&own.news);
  return NULL;
}

double benchmark_shared_sync_loop(const char *path, int size, int count, int threads) {
  pthread_t *ids = calloc((size_t)threads, sizeof *ids);
  struct log log = {.size = (size_t)size, .count = count / threads};
  log.descriptor = benchmark_open_zeros(path, (size_t)size * (size_t)count);
  log.blocks = malloc((size_t)size * (size_t)threads);
  double seconds = -1;
  if (ids && log.blocks && log.descriptor >= 0) {
    memset(log.blocks, 42, (size_t)size * (size_t)threads);
    pthread_mutex_init(&log.mutex, NULL);
    uint64_t start = benchmark_wall_nanoseconds();
    int started = 0;
    while (started < threads && pthread_create(&ids[started], NULL, run, &log) == 0) started++;
    for (int i = 0; i < started; i++) pthread_join(ids[i], NULL);
    if (started == threads && !log.failed)
      seconds = (double)(benchmark_wall_nanoseconds() - start) / 1e9;
    pthread_mutex_destroy(&log.mutex);
  }
  free(ids);
  free(log.blocks);
  if (log.descriptor >= 0) close(log.descriptor);
  unlink(path);
  return seconds;
}
