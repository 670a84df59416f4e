// Numbers of threads, in the order of their first use.
#include "CTreeRing.h"

#include <stdatomic.h>

_Thread_local uint32_t treering_known_thread_number;

uint32_t treering_make_thread_number(void) {
  static atomic_uint last;
  uint32_t number;
  do {
    number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  } while (number == 0);
  return treering_known_thread_number = number;
}
