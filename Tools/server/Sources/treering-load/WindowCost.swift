// The processor time of one changed row in a window, encoding included, beside a program that reads
// the window anew and compares.

import Foundation
import TreeRing
import TreeRingLive

/// Rows of the load.
struct LoadRow: Codable {
  var group: String
  var order: Int
  var text: String

  static let bucket = Bucket<LoadRow>("rows")

  static func fill(_ store: Store, groups: Int, rows: Int) throws {
    try store.define(
      "board", try FieldIndex(bucket: "rows", group: "group", order: [.init("order")]))
    for start in stride(from: 0, to: groups * rows, by: 10_000) {
      try store.write { tx in
        for number in start..<min(start + 10_000, groups * rows) {
          try tx.put(row(number % groups, number), for: key(number), in: bucket)
        }
      }
    }
  }

  /// A row of about 100 bytes; no two of different turns are equal.
  static func row(_ group: Int, _ order: Int, turn: Int = 0) -> LoadRow {
    LoadRow(group: "g\(group)", order: order, text: "\(turn) " + String(repeating: "x", count: 60))
  }

  static func key(_ number: Int) -> Key { Key("row-\(number)") }
}

enum WindowCost {
  static func run() throws {
    for rows in [50, 10_000, 1_000_000] {
      let store = try Store.inMemory()
      try LoadRow.fill(store, groups: 1, rows: rows)
      let session = LiveService(store).session(for: LiveAccess(.read))
      session.receive(Array("{\"open\":1,\"index\":\"board\",\"groups\":[\"g0\"]}".utf8))
      while session.nextMessage() != nil {}
      var times: [Double] = []
      for turn in 0..<500 {
        let number = turn * 7919 % rows
        let row = LoadRow.row(0, (number + turn * 31) % rows, turn: turn + 1)
        try store.write { try $0.put(row, for: LoadRow.key(number), in: LoadRow.bucket) }
        let start = processorTime()
        let message = session.nextMessage()
        times.append(processorTime() - start)
        precondition(message != nil, "a changed row makes a message")
      }
      var naive: [Double] = []
      var shown: [Key: (index: Int, text: String)] = [:]
      for turn in 0..<(rows > 100_000 ? 5 : 50) {
        try store.write {
          try $0.put(LoadRow.row(0, turn), for: LoadRow.key(turn * 13 % rows), in: LoadRow.bucket)
        }
        let start = processorTime()
        var fresh: [Key: (index: Int, text: String)] = [:]
        var changes: [String] = []
        try store.snapshot().index("board").forEachRow(in: "g0") { index, row in
          let text = String(decoding: row.object, as: UTF8.self)
          let key = Key(bytes: row.key.bytes)
          if let old = shown[key], old.index == index, old.text == text {
          } else {
            changes.append("[\(index),\"\(row.key)\",\(text)]")
          }
          fresh[key] = (index, text)
          return true
        }
        for key in shown.keys where fresh[key] == nil { changes.append("\"\(key)\"") }
        shown = fresh
        if turn > 0 { naive.append(processorTime() - start) }
      }
      print(
        "\(rows) rows: \(Quantiles(times).text); read again and compared: \(Quantiles(naive).text)")
    }
  }

  /// The processor time of this thread in milliseconds.
  static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
  }
}
