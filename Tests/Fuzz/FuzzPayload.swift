// Payloads as inputs: each is the second commit of a store with an index. The store opens to a
// state that keeps its invariants, or refuses with a typed error. The same holds for records of
// rows.

import Foundation
import Logging
internal import TreeRing
internal import TreeRingLog

/// Replays a payload into a store and reads all its contents.
func tryPayload(_ payload: [UInt8]) {
  payload.withUnsafeBytes { bytes in
    if let record = try? RowRecord(bytes) {
      var again: [UInt8] = []
      record.encode(into: &again)
      precondition((try? again.withUnsafeBytes { try RowRecord($0).written }) == record.written)
    }
  }
  do {
    let count = try payload.withUnsafeBytes { bytes in
      var reader = try PayloadReader(bytes, commit: 2)
      while try reader.next() != nil {}
      return reader.count
    }
    let disk = MemoryFileSystem()
    try disk.makeDirectory("store")
    let log = try CommitLog(directory: "store/log", fileSystem: disk, options: quiet(.create))
    for (number, payload, count) in [(1, firstPayload, 3), (2, payload, count)] {
      try log.complete(
        log.append(
          CommitDraft(
            number: CommitNumber(number), timestamp: Timestamp(microseconds: 0),
            operationCount: count, payload: payload)))
    }
    try log.close()
    var options = StoreOptions()
    options.logger.logLevel = .critical
    let store = try Store(path: "store", fileSystem: disk, options: options)
    let problems = try store.checkInvariants()
    precondition(problems.isEmpty, "\(problems)")
    _ = try store.history(of: "k", in: "b")
    _ = try store.operations(of: 2)
    try store.revert(to: .commit(1))
    let differences = try store.snapshot().diff(from: store.snapshot(at: .commit(1)))
    // A commit deletes the rows that are due at its date, also those that it restores.
    let expires = store.indexes.contains { $0.expiry != nil }
    precondition(expires || differences.isEmpty, "\(differences)")
  } catch let error as TreeRingError {
    precondition(error.code != .unknown, "\(error)")
  } catch {
    preconditionFailure("an untyped error: \(error)")
  }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A payload of operations on rows of bucket 1, "b".
private func payload(_ commit: CommitNumber, _ write: (inout PayloadWriter) -> Void) -> [UInt8] {
  var writer = PayloadWriter(commit: commit)
  write(&writer)
  return writer.payload(notes: CommitNotes())
}

private let bucket = BucketReference(number: 1, name: "b")

private func put(
  _ writer: inout PayloadWriter, _ key: String, _ object: String, previous: CommitNumber
) {
  bytes(key).withUnsafeBytes { key in
    bytes(object).withUnsafeBytes { object in
      writer.append(
        .put(coder: 0, object: NewValue(object, isLogged: false), metadata: nil),
        of: RowAddress(bucket: bucket, key: key, previous: previous))
    }
  }
}

/// Two rows and an index over them.
private let firstPayload = payload(1) { writer in
  put(&writer, "k", #"{"g":"x","n":1}"#, previous: 0)
  put(&writer, "l", #"{"g":"y","n":-2.5e3}"#, previous: 0)
  writer.append(
    .index(
      IndexRecord(
        name: "i", number: 1, version: 1,
        definition: .fields(
          #"{"bucket":"b","group":"g","order":["n:desc"],"where":{},"version":1}"#))))
}

/// Writes sound payloads to begin from.
func writePayloads(_ folder: String) {
  let payloads = [
    payload(2) { put(&$0, "k", #"{"g":"z","n":[1]}"#, previous: 1) },
    payload(2) { writer in
      bytes("k").withUnsafeBytes { key in
        let row = RowAddress(bucket: bucket, key: key, previous: 1)
        writer.append(.touch, of: row)
        bytes("m").withUnsafeBytes {
          writer.append(.metadata(NewValue($0, isLogged: false)), of: row)
        }
        writer.append(.delete, of: row)
      }
      writer.beginDeleteRange(bucket, rowCount: 1)
      bytes("l").withUnsafeBytes { writer.deleteRange($0, previous: 1) }
      writer.append(.tag(name: "t", commit: 1))
    },
    firstPayload,
    payload(2) { writer in
      let manual = IndexRecord(
        name: "m", number: 2, version: 1, definition: .manual(buckets: ["b"]))
      writer.append(.index(manual))
      writer.append(
        .index(
          IndexRecord(
            name: "f", number: 3, version: 1,
            definition: .selected(manual, #"{"filters":"m","where":{"g":["x"]},"version":1}"#))))
      let rules: [IndexRecord.Definition] = [
        .unique(
          .fields(
            #"{"bucket":"b","group":"g","order":[],"where":{},"version":1,"unique":true}"#)),
        .reference(#"{"bucket":"b","field":"g","to":"b","delete":"cascade","version":1}"#),
        .expiry(#"{"bucket":"b","field":"n","dates":"seconds","version":1}"#),
        .summed(
          #"{"bucket":"b","group":"g","order":[],"where":{},"version":1,"sum":"n","decimals":1}"#),
      ]
      for (number, definition) in rules.enumerated() {
        let record = IndexRecord(
          name: "r\(number)", number: UInt32(10 + number), version: 1, definition: definition)
        writer.append(.index(record))
      }
      writer.append(
        .index(
          IndexRecord(
            name: "w", number: 7, version: 1,
            definition: .text(
              #"{"bucket":"b","text":["t:2"],"where":{},"tokenizer":1,"version":1}"#))))
      writer.append(
        .index(
          IndexRecord(
            name: "e", number: 8, version: 1, definition: .events(.ids, bucket: "b"))))
      for (key, label) in [("k", [128, 7]), ("l", [128]), ("k", [])] as [(String, [UInt8])] {
        bytes(key).withUnsafeBytes { key in
          label.withUnsafeBytes { label in
            writer.append(
              .place(
                PlaceAddress(index: "m", group: "g"),
                RowAddress(bucket: bucket, key: key, previous: 1), label: label))
          }
        }
      }
    },
    payload(2) { writer in
      bytes("k").withUnsafeBytes { key in
        let row = RowAddress(bucket: bucket, key: key, previous: 1)
        bytes(#"{"g":"z","n":3}"#).withUnsafeBytes { object in
          writer.append(.stub(count: 3, buckets: [bucket]))
          writer.append(
            .row(
              row,
              .whole(
                created: Stamp(commit: 1, operation: 0), touched: 1, coder: 0,
                object: .inline(object), metadata: .inline(key))))
          writer.append(.held(row, [.object]))
        }
      }
    },
  ]
  for (index, payload) in payloads.enumerated() {
    let path = "\(folder)/payload-\(index)"
    guard FileManager.default.createFile(atPath: path, contents: Data([2] + payload)) else {
      preconditionFailure("cannot write \(path)")
    }
  }
}
