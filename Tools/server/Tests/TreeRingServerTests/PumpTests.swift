// A pump and the end of the answer that it sends for.

import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing
import TreeRingLive

@testable import TreeRingServer

@Suite("Pumps") struct PumpTests {
  /// A reader that always has a message.
  private final class Talker: LiveReader {
    func nextMessage() -> [UInt8]? { Array(repeating: 1, count: 40_000) }
    var mayBeDue: Bool { true }
    var hasMore: Bool { true }
  }

  @Test("Messages taken before an answer ended are not sent after it", arguments: [0, 1])
  func ends(sentBefore: Int) throws {
    let channel = EmbeddedChannel()
    let sent = NIOLockedValueBox(0)
    let pump = Pump(Talker(), channel, ServerFigures(), revisit: { _ in }) { messages, promise in
      sent.withLockedValue { $0 += messages.count }
      promise.succeed()
    }
    for _ in 0..<sentBefore {
      try #require(pump.take()).send()
      channel.embeddedEventLoop.run()
    }
    let before = sent.withLockedValue(\.self)
    #expect(before == 2 * sentBefore)
    let taken = try #require(pump.take())
    pump.stop()
    taken.send()
    channel.embeddedEventLoop.run()
    #expect(sent.withLockedValue(\.self) == before)
    #expect(pump.take() == nil)
    _ = try channel.finish()
  }
}
