// Messages of the SDKs' protocol in frames of text. A message of more than 16,384 characters has
// the number of its frames before it, as a frame of its own. The SDKs count UTF-16 units; this side
// counts bytes, which are never fewer. A lone 0 announces no frame: the client is alive.

/// Joins the frames of a client to messages.
struct FrameJoiner {
  /// The most bytes of a message.
  let limit: Int
  private var message: [UInt8] = []
  /// The number of frames that the message lacks.
  private var missing = 0

  init(limit: Int) { self.limit = limit }

  /// Takes a frame, and returns the message that it completes; nil if there is none yet.
  ///
  /// - Throws: a refusal of a message that is too large.
  mutating func take(_ frame: [UInt8]) throws -> [UInt8]? {
    if missing == 0 {
      guard frame.count <= 6, frame.allSatisfy({ (0x30...0x39).contains($0) }) else {
        if frame.count > limit { throw RealtimeError.writeTooLarge }
        return frame
      }
      missing = frame.reduce(0) { $0 * 10 + Int($1 - 0x30) }
      return nil
    }
    missing -= 1
    if message.count + frame.count > limit { throw RealtimeError.writeTooLarge }
    message += frame
    if missing > 0 { return nil }
    defer { message = [] }
    return message
  }
}

/// Cuts one message into frames, each when it is sent.
struct FrameCutter {
  static let largestByteCount = 16_384
  private let message: [UInt8]
  private var position = 0
  private var hasCount = false

  init(_ message: [UInt8]) { self.message = message }

  /// Whether all frames have been taken.
  var isDone: Bool { hasCount && position == message.count }

  /// The next frame; nil after the last one.
  mutating func next() -> [UInt8]? {
    if !hasCount {
      hasCount = true
      var (count, end) = (0, 0)
      while end < message.count {
        end = self.end(from: end)
        count += 1
      }
      if count > 1 { return Array(String(count).utf8) }
    }
    guard position < message.count else { return nil }
    let end = end(from: position)
    defer { position = end }
    return Array(message[position..<end])
  }

  /// The end of a frame, which is no part of a character.
  private func end(from start: Int) -> Int {
    var end = min(message.count, start + Self.largestByteCount)
    while end < message.count, end > start + 1, message[end] & 0xC0 == 0x80 { end -= 1 }
    return end
  }
}
