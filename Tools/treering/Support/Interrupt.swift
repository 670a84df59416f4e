// Ctrl-C: long work stops between two commits and closes the store, so that nothing has to be
// recovered. A second Ctrl-C ends the process at once, which also leaves a whole store.

import Foundation
import Synchronization

/// Whether the work is to stop.
enum Interrupt {
  private static let flag = Atomic<Bool>(false)

  /// From now on Ctrl-C asks instead of ending the process.
  static func watch() {
    let handler: @convention(c) (Int32) -> Void = { _ in
      Interrupt.flag.store(true, ordering: .relaxed)
      signal(SIGINT, SIG_DFL)
    }
    // Not `signal`, which would make reading from a slow source go on as if nothing had happened.
    var action = sigaction()
    #if canImport(Darwin)
      action.__sigaction_u.__sa_handler = handler
    #else
      action.__sigaction_handler.sa_handler = handler
    #endif
    sigaction(SIGINT, &action, nil)
    // Whoever started the tool may have had it blocked.
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
