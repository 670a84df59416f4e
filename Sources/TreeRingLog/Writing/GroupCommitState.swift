// The state of group commit: frames to write, the end of the log, failures.

extension GroupCommit {
  /// Frames that are not completed.
  final class Batch {
    /// Awaited by the threads of this batch; one of them is woken to lead it.
    let condition = Condition()
    let buffer = ByteBuffer()
    var frames: [PendingFrame] = []
    /// The indexes of value tables that readers have requested. Accessed only with the monitor
    /// held, unlike the frames, which the leader reads without it.
    var values: [CommitNumber: ValueTable] = [:]
    var isEmpty: Bool { frames.isEmpty }

    func reset() {
      buffer.reset()
      values = [:]
      frames.removeAll(keepingCapacity: frames.count < 4096)
    }
  }

  struct PendingFrame {
    var number: CommitNumber
    var timestamp: Timestamp
    /// The offset of the frame, and the chain after it.
    var offset: UInt64
    var after: ChainPosition
    var durability: Durability
    var bufferIndex: Int
    var headerByteCount: Int
    var byteCount: Int
  }

  struct State {
    /// Segments that are no longer written, oldest first.
    var segments: [Segment]
    /// Nil if the log is open for reading only, and between sealing a segment and beginning the
    /// next.
    var active: ActiveSegment?
    var pending = Batch()
    var inFlight: Batch?
    var spare: Batch?
    var isLeading = false
    var sequenced: CommitNumber
    var sequencedTimestamp: Timestamp
    var completed: CommitNumber
    var completedTimestamp: Timestamp
    var durable: CommitNumber
    /// For each undoing by a full device: the newest commit that was kept.
    var rollbacks: [CommitNumber] = []
    var noSpace: TreeRingError?
    var poison: TreeRingError?
    var isClosed = false
    /// False after the file system has refused to reserve room.
    var canReserve = true
    /// The time at which commits of relaxed durability must be synced.
    var deadline: ContinuousClock.Instant?
    /// True if the folder may hold generations that a rewriting has replaced but failed to remove.
    var hasOldGenerations = false
    var statistics = LogStatistics()
    var trust = LogTrust.none
    /// The end of the scanned log, from which a follower continues; unchanged if the log is
    /// written.
    var end: ScanStart?

    init(recovered: RecoveredLog) {
      segments = recovered.segments
      active = recovered.active
      sequenced = recovered.lastCommit
      sequencedTimestamp = recovered.lastTimestamp
      completed = recovered.lastCommit
      completedTimestamp = recovered.lastTimestamp
      durable = recovered.lastCommit
      end = recovered.end
    }

    /// The frame of a commit that is not completed: its batch and the frame in it.
    func pendingFrame(_ number: CommitNumber) -> (Batch, PendingFrame)? {
      for batch in [inFlight, pending] {
        guard let batch, let first = batch.frames.first?.number, number >= first,
          number - first < UInt64(batch.frames.count)
        else { continue }
        return (batch, batch.frames[Int(number - first)])
      }
      return nil
    }
  }
}
