// The messages about a window. docs/server.md describes them.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

/// A message about a window, with slices of its bytes. Valid while the bytes are.
struct WindowMessage {
  enum Content {
    /// A piece of a whole window; the first has the reason.
    case whole(sections: JSONPart, reason: String?, hasMore: Bool)
    case change(from: CommitNumber, sections: JSONPart?, rows: JSONPart?)
    case error(code: String, message: String)
    /// Something without a meaning for a window, such as the answer to a ping.
    case other
  }

  private(set) var content = Content.other
  private(set) var commit: CommitNumber = 0
  private(set) var date: Timestamp?
  private(set) var position: String?
  private(set) var totals: [RemoteTotal] = []

  init(_ bytes: UnsafeRawBufferPointer) throws(RemoteError) {
    let members = try JSONPart(bytes).members()
    if let error = try members["error"]?.members() {
      content = .error(
        code: try error["code"]?.string() ?? "", message: try error["message"]?.string() ?? "")
      return
    }
    guard let commit = try members["commit"]?.commit(), members["id"] != nil else { return }
    self.commit = commit
    position = try members["position"]?.string()
    if let text = try members["at"]?.string() {
      do throws(TreeRingError) {
        date = try ISO8601.parse(text)
      } catch {
        throw .malformed("“\(text)” is no date.")
      }
    }
    for part in try members["totals"]?.elements() ?? [] { totals.append(try RemoteTotal(part)) }
    if let from = try members["from"]?.commit() {
      content = .change(from: from, sections: members["sections"], rows: members["rows"])
    } else if let sections = members["sections"] {
      content = .whole(
        sections: sections, reason: try members["reset"]?.string(),
        hasMore: members["more"]?.isTrue == true)
    } else {
      throw .malformed("it is neither a change nor a whole window.")
    }
  }
}

/// The sections of a whole window, piece by piece.
struct WholeWindow: Sendable {
  typealias Row = (row: RowReference, object: [UInt8])

  private(set) var sections: [(section: GroupName, rows: [Row])] = []
  private(set) var totals: [RemoteTotal] = []
  let commit: CommitNumber

  init(at commit: CommitNumber) { self.commit = commit }

  /// Appends a piece. A section that continues has its name again.
  ///
  /// - Parameter rows: Gives the rows their references.
  mutating func append(
    _ piece: JSONPart, _ pieceTotals: [RemoteTotal], _ rows: inout ListedRows
  ) throws(RemoteError) {
    totals += pieceTotals
    for (index, part) in try piece.elements().enumerated() {
      let pair = try part.elements(least: 2)
      let name = GroupName(bytes: try pair[0].key())
      if index > 0 || sections.last?.section != name { sections.append((name, [])) }
      for element in try pair[1].elements() {
        let row = try element.elements(least: 3)
        let reference = rows.reference(bucket: try row[0].string(), key: try row[1].key())
        sections[sections.count - 1].rows.append((reference, Array(row[2].bytes)))
      }
    }
  }
}
