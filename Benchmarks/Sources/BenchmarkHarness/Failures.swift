// The failures of engines: states that pass, failures that end one cell of a line, and wrong
// results, which end the program.

internal import Foundation

/// A failure with a message. If a peer throws it, the peer's cell of the line is lost.
public struct BenchmarkError: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A state of an engine that may pass by itself: a lock that another writer holds, or space that a
/// reader holds.
public struct EngineBusy: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A result other than the expected one, or a missing row. It ends the program.
public struct WrongResult: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// Calls `body` again while it throws `EngineBusy`, with pauses that double up to a tenth of a
/// second. `body` must leave the engine as it was when it throws.
/// - Throws: `BenchmarkError` if the engine is still busy after `seconds`; other errors at once.
public func whileBusy<R>(for seconds: Double = 60, _ body: () throws -> R) throws -> R {
  let start = Clocks.wallNanoseconds
  var pause = 0.001
  while true {
    do {
      return try body()
    } catch let busy as EngineBusy {
      guard Double(Clocks.wallNanoseconds - start) / 1e9 < seconds else {
        throw BenchmarkError("\(busy), for \(Int(seconds)) s")
      }
      Thread.sleep(forTimeInterval: pause)
      pause = min(2 * pause, 0.1)
    }
  }
}
