// See the file of this name in TreeRingLog.

#if THREAD_SANITIZER
  internal import TreeRingLog

  typealias Mutex<Value: ~Copyable> = SanitizedMutex<Value>
#endif
