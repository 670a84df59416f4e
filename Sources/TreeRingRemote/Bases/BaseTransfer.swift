// The transfer of a base. A base that its server no longer has is followed by another one; only the
// pieces that differ are sent again.

internal import Foundation
internal import TreeRing
internal import TreeRingHTTP
internal import TreeRingLog

/// One transfer into a folder.
struct BaseTransfer: Sendable {
  let folder: ReceivedLog
  private var connection: RequestConnection
  private let progress: @Sendable (CopyProgress) -> Bool

  /// The bases that may end before their transfer, one after the other.
  private static let baseLimit = 10

  init(
    into folder: ReceivedLog, _ connection: RequestConnection,
    _ progress: @escaping @Sendable (CopyProgress) -> Bool
  ) {
    (self.folder, self.connection, self.progress) = (folder, connection, progress)
  }

  /// Transfers a base.
  mutating func run() async throws -> CopyReport {
    var count = 0
    while true {
      do {
        return try await transfer()
      } catch let ended as EndedBase {
        count += 1
        if count == Self.baseLimit { throw ended.error }
      }
    }
  }

  /// The end of a base before its transfer: the server no longer has it, or a file has changed.
  private struct EndedBase: Error {
    let error: RemoteError
  }

  private mutating func transfer() async throws -> CopyReport {
    let base = try await connection.ask("POST") { (body) throws(RemoteError) in
      try BaseManifest(body)
    }
    do {
      let report = try await copy(base)
      await release(base)
      return report
    } catch {
      await release(base)
      throw error
    }
  }

  private mutating func copy(_ base: BaseManifest) async throws -> CopyReport {
    let manifest = base.log
    var report = CopyReport()
    (report.lastCommit, report.byteCount) = (manifest.lastCommit, manifest.byteCount)
    report.segmentCount = manifest.files.count
    for file in manifest.files {
      let missing = try await blocking { try $0.missingPieces(of: file, in: manifest) }
      let missingByteCount = missing.reduce(0 as UInt64) {
        $0 + UInt64(manifest.range(of: $1, in: file).count)
      }
      report.keptByteCount += file.byteCount - missingByteCount
      for piece in missing {
        let bytes = try await fetch(piece, of: file, base)
        try await blocking { try $0.write(bytes, as: piece, of: file, in: manifest) }
        report.copiedByteCount += UInt64(bytes.count)
        try goOn(report)
      }
      try goOn(report)
    }
    try await blocking { try $0.finish(manifest) }
    return report
  }

  private mutating func fetch(
    _ piece: Int, of file: LogManifest.File, _ base: BaseManifest
  ) async throws -> [UInt8] {
    let checksum = file.checksums[piece]
    do {
      return try await connection.ask("GET", "/\(base.name)/\(file.name)?piece=\(piece)") {
        (bytes) throws(RemoteError) in
        if crc32c(bytes) == checksum { return bytes }
        throw RemoteError(
          .damaged,
          "Piece \(piece) of \(file.name) is another one than the server has stated. Check the "
            + "network and the server's memory; then begin again in the same folder.")
      }
    } catch let error as RemoteError where error.status == 404 || error.status == 409 {
      throw EndedBase(error: error)
    }
  }

  private func goOn(_ report: CopyReport) throws {
    let done = CopyProgress(
      doneByteCount: report.keptByteCount + report.copiedByteCount, byteCount: report.byteCount)
    guard progress(done) else {
      throw TreeRingError(
        .cancelled, "The transfer was cancelled. Begin again in the same folder to continue it.")
    }
  }

  /// Calls the folder on a thread that may wait for the disk.
  private func blocking<Value: Sendable>(
    _ body: @escaping @Sendable (ReceivedLog) throws -> Value
  ) async throws -> Value {
    let folder = folder
    return try await WorkerPool.upkeep.runThrowing { _ in try body(folder) }
  }

  /// Releases a base on the server; one that cannot be released ends by itself.
  private func release(_ base: BaseManifest) async {
    var connection = connection
    let end = Task {
      try? await connection.ask("DELETE", "/\(base.name)", attempts: 1) { _ in }
    }
    _ = await end.value
  }
}
