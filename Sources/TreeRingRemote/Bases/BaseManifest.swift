// The answer that begins a base.

internal import TreeRingLog

/// A base of a server: its name, and the manifest of its log.
struct BaseManifest {
  let name: String
  let log: LogManifest

  /// Reads the JSON of a server.
  ///
  /// - Throws: `malformed`.
  init(_ json: [UInt8]) throws(RemoteError) {
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(RemoteError) in try Self.read(JSONPart(bytes)) }
    }
    (name, log) = try result.get()
  }

  private static func read(_ json: JSONPart) throws(RemoteError) -> (String, LogManifest) {
    let members = try json.members()
    var files: [LogManifest.File] = []
    for file in try member("files", of: members).elements() {
      let members = try file.members()
      var checksums: [UInt32] = []
      for checksum in try member("checksums", of: members).elements() {
        checksums.append(try number(checksum))
      }
      files.append(
        LogManifest.File(
          name: try member("name", of: members).string(),
          byteCount: try number(member("bytes", of: members)), checksums: checksums))
    }
    let name = try member("base", of: members).string()
    let storeID = UInt64(try member("id", of: members).string(), radix: 16)
    guard let storeID, name.utf8.allSatisfy({ $0 >= 0x30 && $0 < 0x7B }) else {
      throw malformed("an id was expected.")
    }
    let commit: CommitNumber = try number(member("commit", of: members))
    let pieceByteCount: Int = try number(member("pieceBytes", of: members))
    do throws(TreeRingError) {
      let log = try LogManifest(
        storeID: storeID, lastCommit: commit, pieceByteCount: pieceByteCount, files: files)
      return (name, log)
    } catch {
      throw malformed(error.message)
    }
  }

  private static func member(
    _ name: String, of members: [String: JSONPart]
  ) throws(RemoteError) -> JSONPart {
    guard let member = members[name] else { throw malformed("it has no “\(name)”.") }
    return member
  }

  private static func number<Number: FixedWidthInteger>(
    _ part: JSONPart
  ) throws(RemoteError) -> Number {
    guard let number = Number(String(decoding: part.bytes, as: UTF8.self)) else {
      throw malformed("a number was expected.")
    }
    return number
  }

  private static func malformed(_ sentence: String) -> RemoteError {
    RemoteError(.malformed, "The server's answer does not begin a base: \(sentence)")
  }
}
