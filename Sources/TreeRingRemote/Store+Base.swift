// A new store from the server of another one.

public import Foundation
public import TreeRing
package import TreeRingLog

extension Store {
  /// Copies the store of a server to a new store, while the server goes on. The copy has every
  /// commit that was durable when the transfer began; a replica that opens in its folder takes
  /// those after them from the shared log.
  ///
  ///     try await Store.restore(from: server, to: "shop.ring")
  ///
  /// The server pins its log, and sends the files piece by piece. Each piece is compared with the
  /// checksum that the server stated first, and each file is read back and checked at the end.
  /// After a lost connection the transfer goes on with the next piece. After an error or a crash
  /// the folder does not open as a store; the same call continues, and transfers only what is
  /// missing. The token must allow reading the whole store.
  ///
  /// - Parameters:
  ///   - server: The address of the server, with its token in the fragment or without one.
  ///   - folder: The folder of the new store: a new or empty one, or one left by an unfinished
  ///     transfer.
  ///   - options: The token, the waits and attempts, and the transport. Without a number of
  ///     attempts it waits until the server can be reached.
  ///   - progress: Called after each piece on a thread of the library; return false to cancel.
  /// - Returns: The newest commit, and the bytes of the log; `copiedByteCount` of these were
  ///   transferred, `keptByteCount` were there from an earlier attempt.
  /// - Throws: `RemoteError` of the server and the way to it, `damaged` among them; `TreeRingError`
  ///   of the folder: `alreadyExists` if it holds anything else, `locked` if another process fills
  ///   it, `corruption` if the server's log is damaged, `noSpace`, `io`, `cancelled`;
  ///   `CancellationError` if the task is cancelled.
  @discardableResult
  public static func restore(
    from server: URL, to folder: String, options: RemoteOptions = RemoteOptions(),
    progress: @escaping @Sendable (CopyProgress) -> Bool = { _ in true }
  ) async throws -> CopyReport {
    try await restore(
      from: server, to: folder, on: PosixFileSystem(), options: options, progress: progress)
  }

  package static func restore(
    from server: URL, to folder: String, on fileSystem: any FileSystem,
    options: RemoteOptions = RemoteOptions(),
    progress: @escaping @Sendable (CopyProgress) -> Bool = { _ in true }
  ) async throws -> CopyReport {
    let connection = try RequestConnection(server, path: "/v1/bases", options)
    let received = try ReceivedLog(in: folder, fileSystem: fileSystem)
    defer { received.release() }
    var transfer = BaseTransfer(into: received, connection, progress)
    return try await transfer.run()
  }
}
