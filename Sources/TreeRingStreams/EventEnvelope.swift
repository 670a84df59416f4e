// The metadata of an event's row: its type, its id and its own metadata, as JSON with sorted keys.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

/// The parts of an event besides its content.
struct EventEnvelope {
  /// Empty if the row was not written as an event.
  var type = ""
  var id: UUID?
  var metadata: [UInt8]?

  /// The envelope of an event to append.
  /// - Throws: `invalidInput` if its type is empty or its metadata is not JSON; `tooLarge` if the
  ///   type has more than 255 bytes.
  init(_ event: NewEvent) throws(TreeRingError) {
    try Limits.check(name: event.type, of: "type of an event")
    type = event.type
    id = event.id
    guard let json = event.metadata else { return }
    do throws(TreeRingError) {
      var compact: [UInt8] = []
      try typed { try json.withUnsafeBytes { try JSONScanner.appendCompact($0, to: &compact) } }
      metadata = compact
    } catch {
      throw TreeRingError(
        .invalidInput,
        "The metadata of the event \(event.type) is not JSON: \(error.message). Put other bytes "
          + "into the event's data, or encode them as a JSON string.", offset: error.offset)
    }
  }

  /// Reads the metadata of a row. Members that are missing or of another form count as absent.
  init(_ bytes: [UInt8]?) {
    guard let bytes else { return }
    bytes.withUnsafeBytes { bytes in
      guard JSONScanner.isValid(bytes) else { return }
      var scanner = JSONScanner(bytes)
      guard (try? scanner.enterObject()) != nil else { return }
      while let member = try? scanner.nextMember() {
        let value = scanner.slice(member.value)
        switch Self.text(scanner.slice(member.name)) {
        case "type": type = Self.text(value) ?? ""
        case "id": id = Self.text(value).flatMap { UUID(uuidString: $0) }
        case "metadata": metadata = Array(value)
        default: break
        }
      }
    }
  }

  /// The bytes of the row's metadata.
  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(type.utf8.count + (metadata?.count ?? 0) + 72)
    bytes.append(contentsOf: "{".utf8)
    if let id { bytes.append(contentsOf: "\"id\":\"\(id.uuidString)\",".utf8) }
    if let metadata {
      bytes.append(contentsOf: "\"metadata\":".utf8)
      bytes.append(contentsOf: metadata)
      bytes.append(contentsOf: ",".utf8)
    }
    bytes.append(contentsOf: "\"type\":".utf8)
    JSONScanner.appendQuoted(type, to: &bytes)
    bytes.append(contentsOf: "}".utf8)
    return bytes
  }

  /// The text of a valid JSON string; nil for another value.
  private static func text(_ token: UnsafeRawBufferPointer) -> String? {
    guard token.first == UInt8(ascii: "\"") else { return nil }
    var text: [UInt8] = []
    JSONScanner.appendString(token, to: &text)
    return String(decoding: text, as: UTF8.self)
  }
}
