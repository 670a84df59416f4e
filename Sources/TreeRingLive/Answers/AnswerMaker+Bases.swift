// The answers to requests for a base: the log of this store, for a replica on another machine.

internal import TreeRing
internal import TreeRingLog

extension AnswerMaker {
  func beginBase() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    // Asked for before the log is read.
    guard service.bases.hasRoom else { return tooMany }
    let log = try store.pinLog(pieceByteCount: limits.basePieceByteCount)
    guard let name = service.bases.add(log) else { return tooMany }
    let manifest = log.manifest
    return LiveAnswer { object in
      object.text("base", name)
      object.text("id", Self.hexadecimal(manifest.storeID))
      object.number("commit", manifest.lastCommit)
      object.number("bytes", manifest.byteCount)
      object.number("pieceBytes", manifest.pieceByteCount)
      object.list("files") { list in
        for file in manifest.files {
          list.object {
            $0.text("name", file.name)
            $0.number("bytes", file.byteCount)
            $0.raw("checksums", JSONText.array(file.checksums.map(String.init)))
          }
        }
      }
    }
  }

  private var tooMany: LiveAnswer {
    LiveAnswer(
      status: 429, code: "tooManyBases",
      message: "\(limits.bases) bases are being copied. Try again when one of them has ended.")
  }

  func basePiece() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    let log = try service.bases.log(try arguments.text(0))
    return LiveAnswer(
      contentType: "application/octet-stream",
      body: try log.piece(try arguments.integer("piece") ?? 0, of: try arguments.text(1)))
  }

  func endBase() throws(TreeRingError) -> LiveAnswer {
    try access.checkUnlimited()
    let name = try arguments.text(0)
    try service.bases.remove(name)
    return LiveAnswer { $0.text("base", name) }
  }
}
