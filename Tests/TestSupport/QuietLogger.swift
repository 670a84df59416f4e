// Loggers for tests that damage stores intentionally, whose reports would only hide real failures.

package import Logging

/// A logger that discards everything.
package let quietLogger = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }

/// A logger that forwards warnings and errors.
package func listeningLogger(_ said: @escaping @Sendable (String) -> Void) -> Logger {
  Logger(label: "listening") { _ in ListeningHandler(said: said) }
}

private struct ListeningHandler: LogHandler {
  let said: @Sendable (String) -> Void
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .warning

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { said("\(event.message)") }
}
