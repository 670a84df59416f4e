// The state of a window at the client, without network, tasks or locks: the rows shown, the
// position to resume from, and the requests that no answer has confirmed yet.
//
//   1. Every request opens the window at the last position, with all that is wanted by then. So a
//      lost connection, another moment and another range are one and the same: a new request.
//   2. Changes of ranges are sent beside the ranges before them, until an answer comes. The answer
//      contains them, because the position is from before them.
//   3. A whole window takes effect with its last piece. Until then the former rows stay, and so
//      does their position.
//   4. A message that is no valid one changes nothing.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// The rows of a window, as its messages tell.
struct WindowMirror: Sendable {
  /// The effect of a message.
  enum Effect {
    /// The window shows another state, or the same; the rows that may differ.
    case shown([RowReference: Parts])
    /// The window waits for more, or the message has no meaning for it.
    case nothing
    /// The server refuses what was asked last. It has been dropped; the rest can be asked again.
    case dropped(RemoteError)
    /// The server cannot answer at present.
    case wait(RemoteError)
  }

  /// The request, with the ranges that the server has confirmed.
  private(set) var request: RemoteRequest
  private(set) var rows = ListedRows()
  /// The commit shown; nil before the first state.
  private(set) var commit: CommitNumber?
  private(set) var date: Timestamp?
  /// The totals of the sections' groups, as far as messages have told them.
  private(set) var totalsByGroup: [GroupName: RemoteTotal] = [:]
  private var position: String?
  /// The changes of ranges that no answer has confirmed; the first of them have been sent.
  private var changes: [RangeChange] = []
  private var sentChangeCount = 0
  /// The moment wanted, the one sent, and the last one that was shown; nil for the newest commit.
  private var target: ReadPoint?
  private var sentTarget: ReadPoint?
  private var shownTarget: ReadPoint?
  private var whole: WholeWindow?
  /// The rows with the numbers of the buckets of a whole window that is not complete.
  private var wholeRows = ListedRows()
  private(set) var awaitsAnswer = false

  init(_ request: RemoteRequest) {
    self.request = request
    target = request.at
  }

  // MARK: - Requests

  /// Shows another moment; nil follows the newest commit.
  mutating func seek(_ point: ReadPoint?) { target = point }

  /// Changes a range.
  ///
  /// - Throws: `invalidInput` if the group has no range to extend.
  mutating func change(_ change: RangeChange) throws(RemoteError) {
    var edited = request
    for change in changes { edited = try edited.edited(by: change) }
    _ = try edited.edited(by: change)
    changes.append(change)
  }

  /// Whether something is wanted that the last request does not ask for.
  var wantsMore: Bool { target != sentTarget || changes.count > sentChangeCount }

  /// The body of a new request.
  mutating func begin() -> [UInt8] {
    (sentTarget, sentChangeCount) = (target, changes.count)
    (whole, awaitsAnswer) = (nil, true)
    return RequestText(request, at: target, from: position, changes).bytes
  }

  // MARK: - Messages

  /// Takes a message of the last request.
  ///
  /// - Throws: An error after which no message can be taken: the server refuses the window, or
  ///   sends something that is not the protocol.
  mutating func take(_ bytes: [UInt8]) throws(RemoteError) -> Effect {
    try bytes.withUnsafeBytes { (bytes) throws(RemoteError) in
      let message = try WindowMessage(bytes)
      switch message.content {
      case .other: return .nothing
      case .error(let code, let text): return try refuse(code, text)
      case .change(let from, let sections, let rows):
        guard from == commit, whole == nil else {
          throw .malformed("a change from commit \(from), which is not shown.")
        }
        var copy = self.rows
        let changed = try copy.apply(sections: sections, rows: rows)
        self.rows = copy
        take(message.totals)
        return try shown(message, changed)
      case .whole(let sections, let reason, let hasMore):
        return try take(sections, of: message, begins: reason != nil, hasMore)
      }
    }
  }

  private mutating func take(
    _ sections: JSONPart, of message: WindowMessage, begins: Bool, _ hasMore: Bool
  ) throws(RemoteError) -> Effect {
    if begins {
      whole = WholeWindow(at: message.commit)
      wholeRows = rows
    }
    guard var next = whole, next.commit == message.commit else {
      throw .malformed("a piece of a whole window without its beginning.")
    }
    whole = nil
    try next.append(sections, message.totals, &wholeRows)
    if hasMore {
      whole = next
      return .nothing
    }
    guard let changed = wholeRows.replace(by: next.sections) else {
      throw .malformed("a whole window has a section or a row twice.")
    }
    rows = wholeRows
    wholeRows = ListedRows()
    totalsByGroup = [:]
    take(next.totals)
    var marks: [RowReference: Parts] = [:]
    for row in changed { marks[row] = [] }
    return try shown(message, marks)
  }

  private mutating func take(_ totals: [RemoteTotal]) {
    for total in totals { totalsByGroup[total.group] = total }
    if totalsByGroup.count > rows.sections.count {
      let shown = Set(rows.sections)
      totalsByGroup = totalsByGroup.filter { shown.contains($0.key) }
    }
  }

  /// The totals of the sections that have one, in their order.
  var totals: [RemoteTotal] { rows.sections.compactMap { totalsByGroup[$0] } }

  /// Shows the state of a message, which confirms the last request.
  private mutating func shown(
    _ message: WindowMessage, _ changed: [RowReference: Parts]
  ) throws(RemoteError) -> Effect {
    commit = message.commit
    date = message.date
    position = message.position
    if awaitsAnswer {
      awaitsAnswer = false
      for change in changes.prefix(sentChangeCount) { request = try request.edited(by: change) }
      changes.removeFirst(sentChangeCount)
      sentChangeCount = 0
      // A tag, or a date, may mean another commit later.
      let pinned = sentTarget.map { _ in ReadPoint.commit(message.commit) }
      if target == sentTarget { target = pinned }
      sentTarget = pinned
      shownTarget = pinned
    }
    return .shown(changed)
  }

  /// Takes an error. What was asked last is dropped, if anything was.
  private mutating func refuse(_ code: String, _ text: String) throws(RemoteError) -> Effect {
    let error = RemoteError(serverCode: code, text)
    if error.code == .unavailable { return .wait(error) }
    if awaitsAnswer, sentTarget != shownTarget, commit != nil {
      if target == sentTarget { target = shownTarget }
      sentTarget = shownTarget
      return .dropped(error)
    }
    if awaitsAnswer, sentChangeCount > 0 {
      changes.removeFirst(sentChangeCount)
      sentChangeCount = 0
      return .dropped(error)
    }
    throw error
  }
}

extension RemoteError {
  /// The error for a code of the server.
  init(serverCode: String, _ text: String) {
    let (code, sentence): (Code, String) =
      switch serverCode {
      case "notFound": (.notFound, "The server has no such index, commit or tag.")
      case "notAllowed": (.notAllowed, "The token does not allow the index.")
      case "beyondHorizon": (.beyondHorizon, "Compaction has dropped the moment asked for.")
      case "tooLarge": (.tooLarge, "The window exceeds the server's bounds.")
      case "invalidInput", "indexDefinedInCode", "notSupported", "alreadyExists":
        (.refused, "The server refuses the request.")
      default: (.unavailable, "The server cannot answer at present.")
      }
    self.init(code, sentence, serverText: text)
  }
}
