// The tool's output for people: keys and contents must not control the terminal.

import Testing
import TreeRingLive

@testable import treering

@Suite("Text shown to people") struct ShownTextTests {
  @Test("Text is shown as it is", arguments: ["", "JFK", "Zürich \u{A0}¡", "東京 🛫", #"{"a":"b"}"#])
  func plain(_ text: String) {
    #expect(JSONText.shown(key: Array(text.utf8)) == text)
    #expect(JSONText.shown(Array(text.utf8)) == text)
  }

  @Test("No control character is shown as it is, and the shown text still identifies the original")
  func controls() throws {
    for value in Array<UInt32>(0..<0x20) + Array(0x7F..<0xA0) {
      let control = try #require(Unicode.Scalar(value))
      let text = Array("é\(Character(control))2J\u{A0}".utf8)
      for shown in [JSONText.shown(key: text), JSONText.shown(text)] {
        #expect(
          !shown.unicodeScalars.contains { $0.properties.generalCategory == .control },
          "U+\(String(value, radix: 16))")
      }
    }
    #expect(JSONText.shown(key: Array("x\u{9B}2J\u{7F}".utf8)) == #""x\u009b2J\u007f""#)
    #expect(JSONText.shown(Array("\u{9B}".utf8)) == #"{"$base64":"wps="}"#)
    // Not text, although its byte is the last byte of a control.
    #expect(JSONText.shown(key: [0x9B]) == #"{"$base64":"mw=="}"#)
  }
}
