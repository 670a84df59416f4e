import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingImport
@testable import TreeRingLog

@Suite struct CommitLineTests {
  private func parse(_ text: String) throws -> CommitLine {
    var line = CommitLine()
    try line.parse(text)
    return line
  }

  private func write(_ line: CommitLine, commit: CommitNumber? = nil) -> String {
    var writer = CommitWriter()
    writer.begin(commit: commit, at: line.at, note: line.note, tags: line.tags)
    line.contents.withUnsafeBytes { contents in
      func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: contents[range])
      }
      for operation in line.operations {
        switch operation.kind {
        case .tag: writer.tag(line.text(operation.key), commit: operation.commit)
        case .index:
          writer.index(line.text(operation.key), definition: operation.object.map(part))
        case .place where operation.label == nil:
          writer.place(
            index: line.text(operation.index), group: part(operation.group),
            bucket: line.text(operation.bucket), key: part(operation.key),
            before: operation.before.map(part))
        case .place, .unplace:
          writer.place(
            index: line.text(operation.index), group: part(operation.group),
            bucket: line.text(operation.bucket), key: part(operation.key),
            label: part(operation.label ?? 0..<0))
        default:
          writer.row(
            operation.kind, bucket: line.text(operation.bucket), key: part(operation.key),
            object: operation.object.map(part), metadata: operation.metadata.map(part),
            coder: operation.coder)
        }
      }
    }
    writer.end()
    return String(decoding: writer.output, as: UTF8.self)
  }

  @Test("Every kind of operation is read and written back as it was")
  func everyKind() throws {
    let text = """
      {"at":"2013-01-01T10:00:00Z","note":"a \\"note\\"","tags":["x","y"],"ops":[\
      ["put","b","k",{"a":1.0}],["put","b","k",[1],null],["object","b","k","text"],\
      ["put:3","b","k",{}],["object:4294967295","b","k",1],\
      ["metadata","b","k",{"$base64":"AP8="}],["touch","b","k"],\
      ["delete","b",{"$base64":"/w=="}],["tag","t",7],["index","i",{"bucket":"b"}],\
      ["index","i",null],["place","i","g","b","k",null],["place","i","g","b","k","l"],\
      ["place","i",{"$base64":"/w=="},"b","k",{"$base64":"/w=="}],\
      ["place","i","g","b","k",{"$label":"gAGB"}],["unplace","i","g","b","k"],\
      ["index","i",{"bucket":"b","group":"g","order":[],"version":1,"sum":"a","decimals":2}],\
      ["index","i",{"code":["b"],"version":1,"decimals":2}]]}
      """
    let line = try parse(text)
    #expect(line.at == Timestamp(microseconds: 1_357_034_400_000_000))
    #expect(line.note == "a \"note\"" && line.tags == ["x", "y"])
    #expect(line.operations.map(\.kind).count == 18)
    #expect(line.operations[14].label.map { Array(line.bytes($0)) } == [128, 1, 129])
    #expect(line.operations[5].metadata.map { Array(line.bytes($0)) } == [0, 255])
    #expect(Array(line.bytes(line.operations[7].key)) == [255])
    #expect(line.operations.map(\.coder).filter { $0 > 0 } == [3, .max])
    #expect(write(line) == text + "\n")
  }

  @Test("Space is dropped, tokens are kept, fields may be left out")
  func spaces() throws {
    let line = try parse(
      " { \"ops\" : [ [ \"put\" , \"b\" , \"\\u006b\" , { \"a\" : 1.50 } , [ ] ] ] } ")
    #expect(write(line) == "{\"ops\":[[\"put\",\"b\",\"k\",{\"a\":1.50},[]]]}\n")
    #expect(try parse("{}").operations.isEmpty)
    #expect(
      write(try parse("{\"tags\":[],\"ops\":[]}"), commit: 7) == "{\"commit\":7,\"ops\":[]}\n")
  }

  @Test("Bytes that would change by being read are written in base 64")
  func exactness() throws {
    let contents: [[UInt8]] = [
      [], [0], [255], Array("{ }".utf8), Array("{\"$base64\":\"AA==\"}".utf8),
      Array("{\"\\u0024base64\":1}".utf8), Array("{\"$base64\":1,\"a\":2}".utf8),
      Array("not json".utf8), Array("1".utf8), Array("\"\\ud800\"".utf8), Array("{}".utf8),
    ]
    for object in contents {
      var writer = CommitWriter()
      writer.begin(at: nil)
      object.withUnsafeBytes { bytes in
        writer.row(.put, bucket: "b", key: bytes, object: bytes, metadata: bytes)
      }
      writer.end()
      var line = CommitLine()
      try writer.output.withUnsafeBytes { try line.parse($0) }
      let operation = try #require(line.operations.first)
      #expect(Array(line.bytes(operation.key)) == object)
      #expect(operation.object.map { Array(line.bytes($0)) } == object)
      #expect(operation.metadata.map { Array(line.bytes($0)) } == object)
    }
  }

  @Test(
    "Bad lines are refused with an offset",
    arguments: [
      "", "[]", "{", "{}x", "{\"op\":[]}", "{\"ops\":[],\"ops\":[]}", "{\"ops\":{}}",
      "{\"ops\":[[]]}", "{\"ops\":[[\"pot\",\"b\",\"k\",1]]}", "{\"ops\":[[\"put\",\"b\",\"k\"]]}",
      "{\"ops\":[[\"put\",\"b\",\"k\",1,2,3]]}", "{\"ops\":[[\"put\",\"b\",1,1]]}",
      "{\"ops\":[[\"put:0\",\"b\",\"k\",1]]}", "{\"ops\":[[\"put:01\",\"b\",\"k\",1]]}",
      "{\"ops\":[[\"touch:1\",\"b\",\"k\"]]}", "{\"ops\":[[\"put:4294967296\",\"b\",\"k\",1]]}",
      "{\"ops\":[[\"put\",\"b\",\"k\",nul]]}", "{\"ops\":[[\"put\",\"b\",\"k\",{\"$base64\":1}]]}",
      "{\"ops\":[[\"put\",\"b\",\"k\",{\"$base64\":\"A\"}]]}",
      "{\"ops\":[[\"put\",\"b\",\"k\",{\"$base64\":\"AB==\"}]]}",
      "{\"ops\":[[\"put\",\"b\",{\"a\":1},1]]}", "{\"ops\":[[\"tag\",\"t\",-1]]}",
      "{\"ops\":[[\"tag\",\"t\",\"1\"]]}", "{\"at\":\"yesterday\"}", "{\"at\":1}", "{\"note\":1}",
      "{\"tags\":\"a\"}", "{\"ops\":[[\"delete\",\"b\",\"k\",1]]}", "{\"ops\":[,]}",
      "{\"ops\":[[\"place\",\"i\",\"g\",\"b\",\"k\"]]}",
      "{\"ops\":[[\"place\",\"i\",\"g\",\"b\",\"k\",{\"$label\":1}]]}",
      "{\"ops\":[[\"place\",\"i\",\"g\",\"b\",\"k\",{\"label\":\"gAGB\"}]]}",
      "{\"ops\":[[\"unplace\",\"i\",\"g\",\"b\",\"k\",null]]}", "{\"commit\":1,\"ops\":[]}", "null",
    ])
  func bad(_ text: String) {
    #expect { try parse(text) } throws: { error in
      (error as? TreeRingError)?.code == .invalidInput
    }
  }

  @Test("Spoilt lines never trap, and a line read after one is read right")
  func spoilt() throws {
    let good = """
      {"at":"2013-01-01T10:00:00Z","note":"n","tags":["x"],"ops":[["put","b","k",{"a":1},[2]],\
      ["delete","b",{"$base64":"/w=="}],["tag","t",7],["place","i","g","b","k","l"]]}
      """
    var line = CommitLine()
    var refused = 0
    for seed: UInt64 in 1...3_000 {
      var maker = JSONMaker(seed: seed)
      let bytes = maker.spoilt(good)
      do { try bytes.withUnsafeBytes { try line.parse($0) } } catch { refused += 1 }
      if seed % 50 == 0 {
        try line.parse(good)
        #expect(write(line) == good + "\n", "seed \(seed)")
      }
    }
    #expect(refused > 1_000)
  }

  @Test("A base states each operation's commits, and nothing but whole rows") func bases() throws {
    let text =
      #"{"base":9,"ops":[["put","b","k",{"a":1},2],[7,3,5],["put","b","l",null],[8,8],"#
      + #"["put","b","n",0],[8,8,0,3,1],["put","b","o",0],[8,2,0,4,6],["put","b","p",0],[8,8],"#
      + #"["delete","b","m"],[8],["tag","t",4],[9],["index","i",null],[9]],"#
      + #""at":"2014-01-01T00:00:00Z","note":"n","buckets":["b","c"],"#
      + #""dates":[[7,"2013-01-01T00:00:00Z"]]}"#
      + "\n"
    #expect(text.utf8.withContiguousStorageIfAvailable { CommitLine.isBase(.init($0)) } == true)
    let line = try parse(text)
    #expect(line.base == 9 && line.note == "n")
    #expect(line.dates.map(\.commit) == [7])
    #expect(line.operations.map(\.written.commit) == [7, 8, 8, 8, 8, 8, 9, 9])
    #expect(line.operations.map(\.written.operation) == [0, 0, 3, 4, 5, 6, 0, 1])
    #expect(line.operations.map(\.created.commit) == [3, 8, 8, 2, 8, 8, 9, 9])
    #expect(line.operations.map(\.created.operation) == [0, 0, 1, 6, 5, 6, 0, 1])
    #expect(line.operations.map(\.touched) == [5, 0, 0, 0, 0, 0, 0, 0])
    var writer = CommitWriter()
    writer.begin(base: 9)
    line.contents.withUnsafeBytes { contents in
      for operation in line.operations {
        func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
          UnsafeRawBufferPointer(rebasing: contents[range])
        }
        switch operation.kind {
        case .tag: writer.tag("t", commit: operation.commit)
        case .index: writer.index("i", definition: nil)
        default:
          writer.row(
            operation.kind, bucket: "b", key: part(operation.key),
            object: operation.object.map(part), metadata: operation.metadata.map(part))
        }
        let isPut = operation.kind == .put
        writer.numbers(
          written: operation.written, created: isPut ? operation.created : nil,
          touched: operation.touched)
      }
    }
    writer.endBase(at: try #require(line.at), note: "n", buckets: line.buckets, dates: line.dates)
    #expect(String(decoding: writer.output, as: UTF8.self) == text)
    let bad = [
      #"{"ops":[],"base":1}"#, #"{"base":1,"ops":[["put","b","k",1]]}"#,
      #"{"base":1,"ops":[["put","b","k",1],[]]}"#, #"{"base":1,"ops":[["put","b","k",1],[2]]}"#,
      #"{"base":3,"ops":[["put","b","k",1],[2,3]]}"#, #"{"base":1,"ops":[["touch","b","k"],[1]]}"#,
      #"{"base":1,"ops":[["delete","b","k"],[1,1]]}"#, #"{"base":1,"ops":[[1]]}"#,
      #"{"base":"1"}"#, #"{"base":-1}"#, #"{"base":1,"tags":["t"]}"#,
      #"{"base":1,"dates":[[1]]}"#, #"{"base":3,"ops":[["put","b","k",1],[2,2,0,4294967295]]}"#,
      #"{"base":3,"ops":[["put","b","k",1],[2,2,0,0,0,0]]}"#, #"{"dates":[]}"#, #"{"buckets":[]}"#,
      #"{"base":3,"dates":[[2,"2013-01-01"],[2,"2013-01-01"]]}"#,
    ]
    for line in bad {
      #expect { try parse(line) } throws: { error in
        (error as? TreeRingError)?.code == .invalidInput
      }
    }
  }
}
