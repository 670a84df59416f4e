// A client of live windows.

public import Foundation
public import TreeRing
public import TreeRingLog
public import TreeRingMappings

/// Groups of an index on a server, shown as sections and rows, and kept current.
///
///     var request = RemoteRequest("departures", groups: ["JFK", "LGA"])
///     request.ranges["JFK"] = .fixed(length: 20)
///     var options = RemoteOptions { _ in try await signIn() }
///     let departures = try RemoteMappings(request, at: server, options: options)
///     …
///     for try await change in departures.changes {  // the whole window, then minimal changes
///       table.apply(change)
///       …
///     }
///
/// A change is of the same type as one of a local store, so it drives the same adapters. The window
/// reconnects by itself, with growing, random delays, and resumes at its position: the next change
/// is minimal, whatever happened in between. Until it is closed, or released with all its streams.
///
/// docs/server.md describes the protocol. Any thread may use a window.
public final class RemoteMappings: Sendable {
  let core: WindowCore
  let options: RemoteOptions

  /// Opens a window.
  ///
  /// - Parameters:
  ///   - request: The groups to show.
  ///   - server: The server's address, such as `https://store.example.org`. The one that
  ///     `treering serve` prints may be used as it is, with its token.
  ///   - options: The options.
  /// - Throws: `invalidInput` if the address is none.
  public init(
    _ request: RemoteRequest, at server: URL, options: RemoteOptions = RemoteOptions()
  ) throws(RemoteError) {
    let core = WindowCore(request)
    let runner = WindowRunner(core: core, address: try LiveAddress(server), options: options)
    self.core = core
    self.options = options
    Task { await runner.run() }
  }

  deinit { core.close() }

  // MARK: - Reading

  /// The changes of the rows shown: first a reset with the full state, then one minimal change
  /// after the other. A slow reader gets one merged change, never a backlog.
  public var changes: RemoteChanges { RemoteChanges(window: self) }

  /// The rows shown now. O(sections).
  public var shown: ShownRows {
    let mirror = core.mirror
    guard let commit = mirror.commit else { return .nothing }
    var observer = ListedObserver()
    let change = try? observer.advance(
      to: mirror.rows, of: mirror.request.index, at: commit, changed: [:], limit: 0)
    return change?.after ?? .nothing
  }

  /// The commit shown; nil before the first state. A commit that changes nothing shown is not
  /// reported, so the newest commit may be a later one.
  public var commit: CommitNumber? { core.mirror.commit }

  /// The date of the commit shown.
  public var date: Timestamp? { core.mirror.date }

  /// The totals of the sections' groups, in the order of the sections; empty unless the request
  /// gives totals. O(sections).
  public var totals: [RemoteTotal] { core.mirror.totals }

  /// The totals now, and after each change of one: also by commits that change nothing shown. A
  /// slow reader gets the newest. The stream ends when the window closes.
  public var totalChanges: AsyncStream<[RemoteTotal]> { core.totals }

  /// The object of a row that is shown now: JSON, with the requested fields. O(1).
  public func object(of row: RowID) -> [UInt8]? { core.mirror.rows.object(of: row) }

  /// The object of a row that is shown now, decoded; nil if the row is not shown.
  ///
  /// - Throws: A `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, of row: RowID) throws -> Content? {
    try object(of: row).map { try JSONDecoder().decode(type, from: Data($0)) }
  }

  // MARK: - Moments and ranges

  /// Shows another moment, by a minimal change. Of moments that are asked for faster than the
  /// server answers, some are left out, but never the last one.
  ///
  /// - Throws: `closed` once the window is closed. A moment that the server refuses is an error of
  ///   ``changes``.
  public func seek(_ point: ReadPoint) throws(RemoteError) {
    try core.change { $0.seek(point) }
  }

  /// Shows the newest commit again, and every further one.
  ///
  /// - Throws: `closed` once the window is closed.
  public func live() throws(RemoteError) { try core.change { $0.seek(nil) } }

  /// Shows this many more rows of a group, on the side away from the pin; fewer if negative.
  ///
  /// - Throws: `invalidInput` if the group is shown whole; `closed` once the window is closed.
  public func extendRange(
    of group: some KeyConvertible, by rows: Int
  ) throws(RemoteError) {
    let change = RangeChange(.extend(by: rows), of: group)
    try core.change { (mirror) throws(RemoteError) in try mirror.change(change) }
  }

  /// Restarts a group's range; nil shows the whole group.
  ///
  /// - Throws: `closed` once the window is closed.
  public func setRange(
    _ range: RangeOptions?, of group: some KeyConvertible
  ) throws(RemoteError) {
    let change = RangeChange(.set(range), of: group)
    try core.change { (mirror) throws(RemoteError) in try mirror.change(change) }
  }

  // MARK: - The connection

  /// The state of the connection.
  public var state: RemoteState { core.status }

  /// The state of the connection now, and each further one. A slow reader gets the newest. The
  /// stream ends when the window closes.
  public var states: AsyncStream<RemoteState> { core.statuses }

  /// Closes the window. The rows that it showed can still be read.
  public func close() { core.close() }
}

extension ShownRows {
  /// The object of a row of a remote window: JSON, with the requested fields. Both states of a
  /// change have the objects of the later one. Nil if the row is not shown, or if a local store
  /// shows it. O(1).
  public func object(of row: RowID) -> [UInt8]? { listedObject(of: row) }

  /// The object of a row of a remote window, decoded; nil if the row is not shown.
  ///
  /// - Throws: A `DecodingError`.
  public func decode<Content: Decodable>(_ type: Content.Type, of row: RowID) throws -> Content? {
    try object(of: row).map { try JSONDecoder().decode(type, from: Data($0)) }
  }
}
