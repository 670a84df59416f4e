import Foundation
import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingImport

@Suite("Rows from JSON Lines, JSON arrays and CSV") struct RowReaderTests {
  /// The objects that a reader returns, with the text of the key in front.
  private func rows(_ reader: RowReader) throws -> [String] {
    var reader = reader
    var rows: [String] = []
    while try reader.next() {
      rows.append("\(reader.key) \(String(decoding: reader.object, as: UTF8.self))")
    }
    return rows
  }

  private func rows(_ text: String, key: String = "k") throws -> [String] {
    try rows(RowReader(LineReader(bytes: Array(text.utf8)), key: key))
  }

  /// The error that a text causes.
  private func failure(_ text: String, key: String = "k") -> TreeRingError? {
    do {
      _ = try rows(text, key: key)
      return nil
    } catch {
      return error as? TreeRingError
    }
  }

  @Test("The first bytes tell the form") func forms() throws {
    let expected = [#"1 {"k":1}"#, #"b {"k":"b"}"#]
    #expect(try rows("{\"k\":1}\n\n { \"k\": \"b\" }\n") == expected)
    #expect(try rows("[{\"k\":1},{\"k\":\"b\"}]") == expected)
    #expect(try rows("k\n1\nb\n") == expected)
    #expect(try rows("") == [])
    #expect(try rows(" [ ] \n\n  ") == [])
    // A header may begin with a bracket.
    #expect(try rows("[a,k\n1,2\n") == [#"2 {"[a":1,"k":2}"#])
  }

  @Test("The elements of a JSON array may span lines and share lines") func arrays() throws {
    let text = """
      [
        { "k": 1,
          "s": "a, ] } \\" \\\\", "n": [ [1], {} ] },
        {"k":2}, {"k"
        :3}
        ,
        {"k":4}
      ]


      """
    let expected = [
      #"1 {"k":1,"s":"a, ] } \" \\","n":[[1],{}]}"#, #"2 {"k":2}"#, #"3 {"k":3}"#, #"4 {"k":4}"#,
    ]
    #expect(try rows(text) == expected)
    #expect(try rows(text.replacing("\n", with: "\r\n")) == expected)
  }

  @Test(
    "A malformed array is refused with its line",
    arguments: [
      ("[", 1), ("[\n{\"k\":1}", 2), ("[\n{\"k\":1}\n", 2), ("[{\"k\":1},]", 1),
      ("[{\"k\":1} {\"k\":2}]", 1), ("[\n{\"k\":1}\n{\"k\":2}]", 3), ("[{\"k\":1}]x", 1),
      ("[{\"k\":1}]\n{}", 2), ("[{\"k\":\"a\nb\"}]", 2), ("[{\"k\":1]}", 1), ("[{\"k\":1}}]", 1),
      ("[{\"k\":1},,{\"k\":2}]", 1), ("[\n,{\"k\":2}]", 2), ("[[1]]", 1), ("[{\"k\":\"a]", 1),
    ])
  func malformedArrays(_ text: String, _ line: Int) {
    let error = failure(text)
    #expect(error?.code == .invalidInput)
    #expect(error?.line == line, "\(text): \(error?.description ?? "")")
  }

  @Test("Random arrays give their elements however their lines break") func randomArrays() throws {
    for seed in seeds(1...60) {
      var maker = JSONMaker(seed: seed)
      var compact: [String] = []
      var text = "[\n"
      for number in 0..<Int(seed % 7) {
        let value = maker.value()
        text += "\(number == 0 ? "" : ",")\(maker.space()){\"k\":\(number),\"v\":\(value)}"
        text += maker.space()
        let onOneLine = String(decoding: value.utf8.map { $0 == 10 ? 32 : $0 }, as: UTF8.self)
        compact += try rows("{\"k\":\(number),\"v\":\(onOneLine)}")
      }
      #expect(try rows(text + "]") == compact, "seed \(seed)")
    }
  }

  @Test("A spoilt array never traps") func spoilt() throws {
    let good = #"[{"k":1,"v":[2,{"a":"b"}]},{"k":"x"} ,{"k":true}]"#
    var refused = 0
    for seed: UInt64 in 1...2_000 {
      var maker = JSONMaker(seed: seed)
      let bytes = maker.spoilt(good)
      do { _ = try rows(RowReader(LineReader(bytes: bytes), key: "k")) } catch { refused += 1 }
    }
    #expect(refused > 1_000)
  }

  @Test("Fields of CSV become numbers, nulls and strings") func fields() throws {
    #expect(
      try rows("k,a\r\nx,1.50\r\n\"7\",007\r\n-3,\r\ny,\"\"\r\nz,true\r\n") == [
        #"x {"k":"x","a":1.50}"#, #"7 {"k":"7","a":"007"}"#, #"-3 {"k":-3,"a":null}"#,
        #"y {"k":"y","a":""}"#, #"z {"k":"z","a":"true"}"#,
      ])
    #expect(try rows("k,a\nx,\"1\r\n\"\"2\"\"\n3\"\n") == [#"x {"k":"x","a":"1\r\n\"2\"\n3"}"#])
  }

  @Test("A row without a key, or with another number of fields, is refused with its line")
  func refusals() throws {
    for (text, line) in [
      ("{\"k\":1}\n{\"j\":1}", 2), ("{\"k\":[]}", 1), ("k\n\"\"\n", 2), ("k,a\n1\n", 2),
      ("a,b\n1,2", 1), ("k\n\"a", 2), ("{\"k\":1}\n\n{\"k\":}", 3), ("{\"k\":\"\\ud800\"}", 1),
    ] {
      let error = failure(text)
      #expect(error?.code == .invalidInput)
      #expect(error?.line == line, "\(text): \(error?.description ?? "")")
    }
    #expect(failure("k\n\"a\n\nb")?.description == "line 2: A quoted field is not closed.")
  }

  @Test("Each file has a form of its own, and errors name the file") func files() throws {
    let folder = try TemporaryFolder()
    func file(_ name: String, _ text: String) throws -> String {
      let path = folder.path + "/" + name
      try Data(text.utf8).write(to: URL(filePath: path))
      return path
    }
    let csv = try file("a.csv", "k,a\n1,2\n")
    let array = try file("b.json", "\u{FEFF}[{\"k\":2}]")
    let lines = try file("c.jsonl", "{\"k\":3}\n")
    let open = try file("d.csv", "k\n\"4\n")
    #expect(
      try rows(RowReader(LineReader(files: [csv, array, lines]), key: "k")).map(\.first) == [
        "1", "2", "3",
      ])
    let error = #expect(throws: TreeRingError.self) {
      try rows(RowReader(LineReader(files: [open, lines]), key: "k"))
    }
    #expect(error?.file == open && error?.line == 2)
    let missing = #expect(throws: TreeRingError.self) {
      try rows(RowReader(LineReader(files: [csv, folder.path + "/none"]), key: "k"))
    }
    #expect(missing?.code == .notFound && missing?.errno == ENOENT)
    let refused = #expect(throws: TreeRingError.self) {
      try rows(RowReader(LineReader(files: [folder.path]), key: "k"))
    }
    #expect(refused?.code == .io && refused?.file == folder.path)
  }
}
