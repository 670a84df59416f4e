// A request as the messages of the protocol: one opens the window, the others change its ranges.
// Each is a line of JSON.

internal import TreeRing
internal import TreeRingImport
internal import TreeRingLog
internal import TreeRingMappings

/// The body of a request.
struct RequestText {
  private(set) var bytes: [UInt8] = []

  /// - Parameters:
  ///   - request: The groups to show, with the ranges before the changes.
  ///   - point: The moment to show; nil for the newest commit.
  ///   - position: The position that the client shows; nil for nothing.
  ///   - changes: The changes of ranges that the answer is to contain.
  init(
    _ request: RemoteRequest, at point: ReadPoint?, from position: String?, _ changes: [RangeChange]
  ) {
    append("{\"open\":1,\"index\":")
    append(quoted: request.index)
    if let groups = request.groups {
      append(",\"groups\":")
      append(groups)
    }
    if let range = request.range {
      append(",\"range\":")
      append(quoted: range.text)
    }
    if !request.ranges.isEmpty {
      append(",\"ranges\":{")
      for (index, group) in request.ranges.keys.sorted().enumerated() {
        if index > 0 { append(",") }
        append(name: group)
        append(range: request.ranges[group] ?? nil)
      }
      append("}")
    }
    append(",\"reversed\":")
    append(request.reversed.sorted())
    append(",\"hideEmpty\":\(request.hidesEmptySections)")
    if request.givesTotals { append(",\"totals\":true") }
    if let fields = request.fields {
      append(",\"fields\":[")
      for (index, field) in fields.enumerated() {
        if index > 0 { append(",") }
        append(quoted: field)
      }
      append("]")
    }
    if let point {
      append(",\"at\":")
      append(quoted: Self.text(of: point))
    }
    if let position {
      append(",\"from\":")
      append(quoted: position)
    }
    append("}\n")
    for change in changes { append(change) }
  }

  private mutating func append(_ change: RangeChange) {
    switch change.edit {
    case .extend(let rows):
      append("{\"id\":1,\"grow\":{")
      append(name: change.group)
      append("\(rows)}}\n")
    case .set(let range):
      append("{\"id\":1,\"ranges\":{")
      append(name: change.group)
      append(range: range)
      append("}}\n")
    case .shift: break
    }
  }

  static func text(of point: ReadPoint) -> String {
    switch point {
    case .commit(let number): return "\(number)"
    case .tag(let name): return "tag:\(name)"
    case .date(let date):
      var text: [UInt8] = []
      ISO8601.append(date, to: &text)
      return String(decoding: text, as: UTF8.self)
    }
  }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func append(quoted text: String) { JSONScanner.appendQuoted(text, to: &bytes) }

  private mutating func append(_ groups: [GroupName]) {
    append("[")
    for (index, group) in groups.enumerated() {
      if index > 0 { append(",") }
      group.bytes.withUnsafeBytes { CommitWriter.appendKey($0, to: &bytes) }
    }
    append("]")
  }

  /// Appends a group as the name of a member. Bytes that are no text, and text that begins like
  /// their form, are written in base 64.
  private mutating func append(name group: GroupName) {
    let text = String(validating: group.bytes, as: UTF8.self)
    if let text, !text.hasPrefix("{\"$base64\":") {
      append(quoted: text)
    } else {
      var wrapped: [UInt8] = []
      group.bytes.withUnsafeBytes { Base64.appendWrapping($0, to: &wrapped) }
      append(quoted: String(decoding: wrapped, as: UTF8.self))
    }
    append(":")
  }

  private mutating func append(range: RangeOptions?) {
    guard let range else { return append("null") }
    append(quoted: range.text)
  }
}

extension RangeOptions {
  /// The range as text of the protocol.
  var text: String {
    var text =
      "\(isFlexible ? "flexible" : "fixed"):\(length):\(offset):\(pin == .end ? "end" : "begin")"
    guard isFlexible else { return text }
    if minLength > 0 { text += ":min=\(minLength)" }
    if maxLength < .max { text += ":max=\(maxLength)" }
    switch growth {
    case .pinSide: text += ":grow=pin"
    case .nonPinSide: text += ":grow=nonpin"
    case .bothSides: text += ":grow=both"
    case .inRangeOnly: text += ":grow=none"
    }
    return text
  }
}
