// Push ids: 20 characters that sort by the time of their making, eight of the time and twelve
// random ones. Within a millisecond the random part counts up, so the ids of one server never go
// back.

internal import TreeRingPlatform

/// Makes push ids.
final class PushIDs: Sendable {
  private struct State {
    var time: UInt64 = 0
    var random: [UInt8] = []
  }

  private static let characters = Array(
    "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz".utf8)
  private let state = Mutex(State())

  /// The next id.
  ///
  /// - Parameter now: Milliseconds since 1970. An earlier time than the last one counts as that.
  func next(now: UInt64) -> String {
    let (time, random) = state.withLock { state in
      if now > state.time || state.random.isEmpty {
        state.time = max(now, state.time)
        state.random = (0..<12).map { _ in UInt8.random(in: 0..<64) }
      } else {
        var index = 11
        while index >= 0, state.random[index] == 63 {
          state.random[index] = 0
          index -= 1
        }
        // After all random parts of a millisecond come those of the next.
        if index >= 0 { state.random[index] += 1 } else { state.time += 1 }
      }
      return (state.time, state.random)
    }
    var id = (0..<8).map { Self.characters[Int(time >> UInt64(42 - 6 * $0) & 63)] }
    id += random.map { Self.characters[Int($0)] }
    return String(decoding: id, as: UTF8.self)
  }
}
