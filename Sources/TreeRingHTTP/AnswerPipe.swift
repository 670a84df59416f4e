// The way of an answer's pieces from the thread that reads them to the task that awaits them. A
// slow reader costs a bounded amount of memory, whatever the server sends:
//
//   - A thread of its own waits while too many bytes are untaken. Then the system's buffers fill,
//     and the server waits too.
//   - A writer that must not wait ends the answer when too many bytes are untaken.

internal import Foundation
internal import TreeRingPlatform

/// A pipe for one writing thread and one reading task.
package final class AnswerPipe: Sendable {
  private struct State {
    var pieces: ArraySlice<HTTPAnswer> = []
    /// The bytes of `pieces`.
    var byteCount = 0
    /// The end, after all pieces.
    var end: Result<Void, any Error>?
    var reader: CheckedContinuation<Void, Never>?
    var writerWaits = false
    var isClosed = false

    var isReady: Bool { isClosed || end != nil || !pieces.isEmpty }

    /// The reader's next step, and whether the writer goes on.
    mutating func take() -> (Step, wakesWriter: Bool) {
      if isClosed { return (.end(.success(())), false) }
      guard let piece = pieces.popFirst() else { return (end.map { .end($0) } ?? .wait, false) }
      // A slice keeps the elements before its start.
      if pieces.isEmpty { pieces = [] }
      byteCount -= piece.byteCount
      guard writerWaits, byteCount <= AnswerPipe.limit / 2 else { return (.piece(piece), false) }
      writerWaits = false
      return (.piece(piece), true)
    }
  }

  private enum Step {
    case piece(HTTPAnswer)
    case end(Result<Void, any Error>)
    case wait
  }

  /// The untaken bytes from which the writer waits, until half of them have been taken.
  package static let limit = 256 << 10

  private let state = Mutex(State())
  private let room = DispatchSemaphore(value: 0)
  private let whenClosed: @Sendable () -> Void

  /// - Parameter whenClosed: Called once the reader wants no more. Must make the writer end.
  package init(whenClosed: @escaping @Sendable () -> Void) { self.whenClosed = whenClosed }

  // MARK: - Writing

  /// Adds a piece. Blocks the thread while too many bytes are untaken.
  package func put(_ piece: HTTPAnswer) {
    let (reader, waits) = state.withLock { state in
      state.pieces.append(piece)
      state.byteCount += piece.byteCount
      state.writerWaits = state.byteCount >= Self.limit && !state.isClosed
      defer { state.reader = nil }
      return (state.reader, state.writerWaits)
    }
    reader?.resume()
    if waits { room.wait() }
  }

  /// Adds a piece without blocking. If more bytes than a limit are untaken then, the answer ends
  /// with the error `ConnectionLost` after this piece.
  ///
  /// - Returns: Whether the reader wants more; otherwise the writer must end.
  package func offer(_ piece: HTTPAnswer, limit: Int) -> Bool {
    let (reader, isOpen) = state.withLock { state in
      guard state.end == nil, !state.isClosed else {
        return (nil as CheckedContinuation<Void, Never>?, false)
      }
      state.pieces.append(piece)
      state.byteCount += piece.byteCount
      if state.byteCount > limit {
        let reason = "the reader was too slow, and more than \(limit) bytes waited for it"
        state.end = .failure(ConnectionLost(reason: reason))
      }
      defer { state.reader = nil }
      return (state.reader, state.end == nil)
    }
    reader?.resume()
    return isOpen
  }

  /// Ends the answer, with an error if it is not complete. Has no effect on one that has ended.
  package func finish(throwing error: (any Error)? = nil) {
    let reader = state.withLock { state in
      state.end = state.end ?? error.map { .failure($0) } ?? .success(())
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  // MARK: - Reading

  /// The answer, for one reader. The pipe closes when its iteration ends.
  package var stream: AnswerStream {
    let end = IterationEnd(self)
    return AnswerStream { [self] in
      defer { withExtendedLifetime(end) {} }
      return try await next()
    }
  }

  /// The next piece; nil at the end of the answer, and after cancellation.
  private func next() async throws -> HTTPAnswer? {
    while true {
      let (step, wakes) = state.withLock { $0.take() }
      if wakes { room.signal() }
      switch step {
      case .piece(let piece): return piece
      case .end(let end):
        try end.get()
        return nil
      case .wait: break
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { reader in
          let isReady = state.withLock { state in
            if !state.isReady { state.reader = reader }
            return state.isReady
          }
          if isReady { reader.resume() }
        }
      } onCancel: {
        close()
      }
    }
  }

  /// Drops what is untaken, and makes the writer end.
  package func close() {
    let (wasClosed, reader, waits) = state.withLock { state in
      defer {
        (state.isClosed, state.pieces, state.byteCount) = (true, [], 0)
        (state.reader, state.writerWaits) = (nil, false)
      }
      return (state.isClosed, state.reader, state.writerWaits)
    }
    reader?.resume()
    if waits { room.signal() }
    if !wasClosed { whenClosed() }
  }
}

/// Closes a pipe when the iteration of its stream ends.
private final class IterationEnd: Sendable {
  private let pipe: AnswerPipe
  init(_ pipe: AnswerPipe) { self.pipe = pipe }
  deinit { pipe.close() }
}
