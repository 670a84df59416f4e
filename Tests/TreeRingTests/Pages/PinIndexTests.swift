import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Pins by state") struct PinIndexTests {
  /// States of commits next to each other, a power of two apart, and anywhere; some in later forms.
  static func state(_ random: inout SeededGenerator) -> StateID {
    let commit =
      switch Int.random(in: 0..<3, using: &random) {
      case 0: CommitNumber.random(in: 1...300, using: &random)
      case 1: 1 + 128 * CommitNumber.random(in: 0..<300, using: &random)
      default: CommitNumber.random(in: 1..<1 << 48, using: &random)
      }
    return StateID(commit, form: .random(in: 0...3, using: &random))
  }

  @Test("The index holds the pins that a dictionary holds", arguments: seeds(1...4))
  func likeDictionary(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var index = PinIndex()
    var model: [StateID: Pin] = [:]
    for step in 0..<4_000 {
      let state = Self.state(&random)
      // Mostly additions at first, mostly removals later.
      if Int.random(in: 0..<4_000, using: &random) > step {
        if model[state] == nil {
          let pin = Pin(state)
          index.insert(pin)
          model[state] = pin
        }
      } else if let pin = model[state] ?? model.randomElement(using: &random)?.value {
        index.remove(pin)
        model[pin.state] = nil
        #expect(index[pin.state] == nil, "seed \(seed)")
      }
      #expect(index[state] === model[state], "seed \(seed)")
      #expect(index.count == model.count, "seed \(seed)")
    }
    for (state, pin) in model { #expect(index[state] === pin, "seed \(seed)") }
  }
}
