// Many readers of one server, from another process.

import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TreeRing

enum ReaderLoad {
  /// Reads windows of one group each, and prints how late their changes come.
  static func read(_ url: String, windows: Int, seconds: Int) async throws {
    let address = try LoadAddress(url)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let delays = NIOLockedValueBox<[Double]>([])
    for number in 0..<windows {
      _ = try await connect(address, group, number) { message in
        guard let at = date(of: message) else { return }
        let delay = (Date().timeIntervalSince1970 - at) * 1000
        delays.withLockedValue { $0.append(delay) }
      }
    }
    print("\(windows) windows are open")
    try await Task.sleep(for: .seconds(seconds))
    let values = delays.withLockedValue { $0 }
    print("from the commit's date to the message at the reader: \(Quantiles(values).text)")
    try await group.shutdownGracefully()
  }

  /// Connects readers that stay idle, and prints the memory of the server for each.
  static func idle(_ url: String, readers: Int, process: String) async throws {
    guard let process = Int32(process) else {
      throw LoadFailure(description: "\(process) is no process")
    }
    let address = try LoadAddress(url)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let before = try LoadProcess.residentKilobytes(process)
    var channels: [any Channel] = []
    for number in 0..<readers {
      channels.append(try await connect(address, group, number) { _ in })
    }
    try await Task.sleep(for: .seconds(3))
    let after = try LoadProcess.residentKilobytes(process)
    print(
      "\(readers) idle readers: \(before) kB before, \(after) kB after, "
        + String(format: "%.1f kB each", Double(after - before) / Double(readers)))
    for channel in channels { channel.close(promise: nil) }
    try await Task.sleep(for: .seconds(2))
    print("after they have gone: \(try LoadProcess.residentKilobytes(process)) kB")
    try await group.shutdownGracefully()
  }

  /// Opens a window of one group, and waits for its first message.
  private static func connect(
    _ address: LoadAddress, _ group: MultiThreadedEventLoopGroup, _ number: Int,
    _ body: @escaping @Sendable ([UInt8]) -> Void
  ) async throws -> any Channel {
    let loop = group.next()
    let ready = loop.makePromise(of: Void.self)
    let channel = try await LoadConnection.open(
      address, on: loop,
      first: ["{\"open\":1,\"index\":\"board\",\"groups\":[\"g\(number % 100)\"]}"]
    ) {
      LoadConnection.Events { message in
        body(message)
        ready.succeed()
      } closed: {
        ready.fail(LoadFailure(description: "the server closed a connection"))
      }
    }.get()
    try await ready.futureResult.get()
    return channel
  }

  /// The seconds since 1970 of the date in a change, which begins with these members:
  /// `{"id":1,"from":A,"commit":B,"at":"DATE"`. Reads no further, so that one process can read for
  /// many.
  private static func date(of message: [UInt8]) -> Double? {
    guard message.starts(with: "{\"id\":1,\"from\":".utf8) else { return nil }
    let members = message.prefix(120).split(separator: UInt8(ascii: "\""))
    guard let name = members.firstIndex(where: { $0.elementsEqual("at".utf8) }),
      name + 2 < members.endIndex
    else { return nil }
    return LoadDate.seconds(members[name + 2])
  }
}

enum LoadDate {
  /// A date such as 2026-11-25T08:00:00.25Z.
  static func text(_ date: Timestamp) -> String {
    var seconds = Int(date.microseconds / 1_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return String(
      format: "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", Int(parts.tm_year) + 1900,
      Int(parts.tm_mon) + 1, Int(parts.tm_mday), Int(parts.tm_hour), Int(parts.tm_min),
      Int(parts.tm_sec), Int(date.microseconds % 1_000_000))
  }

  /// The seconds since 1970 of a date such as 2026-11-25T08:00:00.25Z.
  static func seconds(_ text: some Sequence<UInt8>) -> Double? {
    var parts: [Double] = []
    var digits = ""
    for byte in text {
      if (0x30...0x39).contains(byte) || byte == 0x2E {
        digits.append(Character(UnicodeScalar(byte)))
      } else {
        if let part = Double(digits) { parts.append(part) }
        digits = ""
      }
    }
    guard parts.count == 6 else { return nil }
    var calendar = tm()
    calendar.tm_year = Int32(parts[0]) - 1900
    calendar.tm_mon = Int32(parts[1]) - 1
    calendar.tm_mday = Int32(parts[2])
    return Double(timegm(&calendar)) + parts[3] * 3600 + parts[4] * 60 + parts[5]
  }
}
