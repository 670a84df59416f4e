// Ctrl-C: long work stops between two commits and closes the store, so that it needs no recovery. A
// second Ctrl-C ends the process at once, which also leaves a whole store.

import Foundation
import TreeRingPlatform

/// The request to stop.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)

  /// From now on Ctrl-C requests a stop instead of ending the process.
  static func watch() {
    // Made before the handler can run: a handler that interrupts the making of the flag and uses it
    // waits for ever.
    flag.store(false, ordering: .relaxed)
    let handler: @convention(c) (Int32) -> Void = { _ in
      Interrupt.flag.store(true, ordering: .relaxed)
      signal(SIGINT, SIG_DFL)
    }
    Platform.handle(SIGINT, with: handler)
    // The parent process may have blocked the signal.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  /// Whether Ctrl-C has been pressed.
  static var isRequested: Bool { flag.load(ordering: .relaxed) }

  /// Throws once Ctrl-C has been pressed.
  static func check() throws {
    if isRequested { throw Failure(.interrupted, "Interrupted.") }
  }
}
