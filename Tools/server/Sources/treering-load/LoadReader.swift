// A reader that lasts: it reconnects after every lost connection, and resumes its windows.

import Foundation
import NIOCore

/// The readers of a load test, and what they have found. Used on one event loop.
final class LoadReaders: @unchecked Sendable {
  let loop: any EventLoop
  let history: LoadHistory
  var address: LoadAddress
  /// The first failures.
  private(set) var failures: [String] = []
  private(set) var failureCount = 0
  /// Whether the delays of changes count: not while a killed process comes back.
  var isCalm = false
  private(set) var delays: [Double] = []
  /// False at the end, when connections may close.
  var reconnects = true

  init(_ address: LoadAddress, _ history: LoadHistory, on loop: any EventLoop) {
    self.address = address
    self.history = history
    self.loop = loop
  }

  func fail(_ sentence: String) {
    failureCount += 1
    if failures.count < 10 { failures.append(sentence) }
  }

  /// Notes the delay of a change that a reader has got.
  func note(_ message: [String: Any]) {
    guard isCalm, let at = message["at"] as? String, let date = LoadDate.seconds(at.utf8) else {
      return
    }
    delays.append((Date().timeIntervalSince1970 - date) * 1000)
  }

  func takeDelays() -> [Double] {
    defer { delays = [] }
    return delays
  }
}

/// A connection with some windows. Used on the event loop of its readers.
final class LoadReader: @unchecked Sendable {
  enum Kind {
    /// Windows of the board, which commits change.
    case board([CheckedWindow])
    /// A window that no commit changes.
    case quiet
  }

  let kind: Kind
  private let readers: LoadReaders
  private let receiveBuffer: Int?
  private var channel: (any Channel)?
  /// Whether it stops reading once its first window has come.
  private let stalls: Bool
  private var isStalled = false
  private var isPatient = true
  /// Whether it has got a message on its present connection.
  private(set) var isCurrent = false
  private(set) var connectionCount = 0

  init(_ kind: Kind, _ readers: LoadReaders, stalls: Bool = false) {
    self.kind = kind
    self.readers = readers
    self.stalls = stalls
    receiveBuffer = stalls ? 4096 : nil
  }

  func connect() {
    let first: [String] =
      switch kind {
      case .board(let windows): windows.enumerated().map { $1.opening($0) }
      case .quiet: ["{\"open\":0,\"index\":\"quiet\"}"]
      }
    isCurrent = false
    LoadConnection.open(
      readers.address, on: readers.loop, receiveBuffer: receiveBuffer, first: first
    ) { [self] in
      LoadConnection.Events { channel in
        self.channel = channel
        self.connectionCount += 1
      } message: {
        self.receive($0)
      } closed: {
        self.reconnect()
      }
    }.whenFailure { _ in self.reconnect() }
  }

  private func reconnect() {
    channel = nil
    isCurrent = false
    guard readers.reconnects else { return }
    // Thousands come back at once.
    let milliseconds =
      if case .quiet = kind { Int64.random(in: 200...3000) } else { Int64.random(in: 50...500) }
    readers.loop.scheduleTask(in: .milliseconds(milliseconds)) { self.connect() }
  }

  private func receive(_ bytes: [UInt8]) {
    guard let parsed = try? JSONSerialization.jsonObject(with: Data(bytes)),
      let message = parsed as? [String: Any]
    else { return readers.fail("a message is no JSON object: \(bytes.count) bytes") }
    switch kind {
    case .quiet:
      if isCurrent { readers.fail("an idle reader got a message: \(message)") }
      if message["reset"] == nil { readers.fail("an idle reader got no window: \(message)") }
    case .board(let windows):
      guard let id = (message["id"] as? NSNumber)?.intValue, windows.indices.contains(id) else {
        return readers.fail("a message for no window: \(message)")
      }
      do throws(LoadFailure) {
        try windows[id].apply(message)
      } catch {
        readers.fail(error.description)
      }
      if message["from"] != nil, isCurrent, !stalls { readers.note(message) }
    }
    isCurrent = true
    if stalls, isPatient, !isStalled {
      isStalled = true
      channel?.setOption(.autoRead, value: false).whenFailure { _ in }
    }
  }

  /// Reads again after a stall.
  func readOn() {
    isPatient = false
    channel?.setOption(.autoRead, value: true).whenFailure { _ in }
    channel?.read()
  }

  /// The state of the reader, for a failure's text.
  var state: String {
    guard case .board(let windows) = kind else { return "idle, current: \(isCurrent)" }
    let commits = windows.map { "\($0.commit ?? 0)\($0.position == nil ? ", partial" : "")" }
    return "current: \(isCurrent), connections: \(connectionCount), commits: \(commits)"
  }

  /// Whether all its windows show the rows of this commit. A commit that changes no row of a window
  /// sends it nothing.
  func shows(_ commit: UInt64) -> Bool {
    guard isCurrent else { return false }
    guard case .board(let windows) = kind else { return true }
    return windows.allSatisfy { $0.shows(commit) }
  }
}
