// The state of a store that another machine copies.

package import TreeRingLog

extension Store {
  /// Pins the log as a backup would copy it now. Compaction and erasing wait until its checksums
  /// are computed, and go on while it is read. Rows erased after that stay in it.
  ///
  /// - Parameter pieceByteCount: The size of the pieces, in bytes.
  /// - Throws: As `backUp(to:)`.
  package func pinLog(pieceByteCount: Int) throws(TreeRingError) -> PinnedLog {
    try checkOpen()
    try writerLock.checkOutside()
    // A row that is half erased must not get into a base.
    return try maintenance.hold { () throws(TreeRingError) in
      try log.pin(pieceByteCount: pieceByteCount)
    }
  }
}
