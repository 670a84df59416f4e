// The time until a window is current again after its client was away: the minimal change from the
// commit that it shows, beside the whole window.

import Foundation
import TreeRing
import TreeRingLive

enum ResumeCost {
  static func run(commits: Int) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "resume-\(getpid()).ring")
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.durability = .relaxed(within: .seconds(1))
    let store = try Store(at: folder.path, options: options)
    try LoadRow.fill(store, groups: WriterLoad.groups, rows: WriterLoad.rowsPerGroup)
    let service = LiveService(store)
    let groups = ["[\"g0\"]", "[" + (0..<20).map { "\"g\($0)\"" }.joined(separator: ",") + "]"]
    let positions = try groups.map { try position(of: $0, service) }
    let count = WriterLoad.groups * WriterLoad.rowsPerGroup
    for turn in 0..<commits {
      let number = turn * 7919 % count
      let row = LoadRow.row(number % WriterLoad.groups, number + turn % 1000, turn: turn + 1)
      try store.write { try $0.put(row, for: LoadRow.key(number), in: LoadRow.bucket) }
    }
    print("\(commits) commits")
    for (groups, position) in zip(groups, positions) {
      for (name, more) in [("resumed", ",\"from\":\"\(position)\""), ("whole", "")] {
        var times: [Double] = []
        var byteCount = 0
        for _ in 0..<20 {
          let start = ContinuousClock.now
          let session = service.session(for: LiveAccess(.read))
          session.receive(
            Array("{\"open\":1,\"index\":\"board\",\"groups\":\(groups)\(more)}".utf8))
          byteCount = 0
          while let message = session.nextMessage() { byteCount += message.count }
          times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        print(
          "\(groups.count > 10 ? 1000 : 50) rows, \(name): first "
            + String(format: "%.2f ms, ", times[0]) + "\(Quantiles(times).text), \(byteCount) bytes"
        )
      }
    }
    try store.close()
  }

  /// The position of a window that shows these groups now.
  private static func position(of groups: String, _ service: LiveService) throws -> String {
    let session = service.session(for: LiveAccess(.read))
    session.receive(Array("{\"open\":1,\"index\":\"board\",\"groups\":\(groups)}".utf8))
    let message = String(decoding: session.nextMessage() ?? [], as: UTF8.self)
    let parts = message.split(separator: "\"position\":\"")
    guard parts.count == 2 else { throw LoadFailure(description: "no position: \(message)") }
    return String(parts[1].prefix { $0 != "\"" })
  }
}
