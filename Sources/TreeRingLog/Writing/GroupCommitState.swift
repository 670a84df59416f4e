// What group commit keeps: frames on their way, where the log stands, what went wrong.

extension GroupCommit {
  /// Frames on their way to the file.
  final class Batch {
    /// Threads wait here for this batch to be completed; one of them is woken to lead it.
    let condition = Condition()
    let buffer = ByteBuffer()
    var frames: [PendingFrame] = []
    var isEmpty: Bool { frames.isEmpty }

    func reset() {
      buffer.reset()
      frames.removeAll(keepingCapacity: frames.count < 4096)
    }
  }

  struct PendingFrame {
    var number: CommitNumber
    var timestamp: Timestamp
    /// Where the frame goes, and the chain behind it.
    var offset: UInt64
    var after: ChainPosition
    var durability: Durability
    var bufferIndex: Int
    var headerByteCount: Int
    var byteCount: Int
  }

  struct State {
    /// Segments that are not written any more, oldest first.
    var segments: [Segment]
    /// Nil for reading only, and between sealing a segment and beginning the next.
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
    /// For each full device so far: the newest commit that stayed.
    var rollbacks: [CommitNumber] = []
    var noSpace: TreeRingError?
    var poison: TreeRingError?
    var isClosed = false
    /// False once the file system has refused to reserve room.
    var canReserve = true
    /// When commits of relaxed durability must be synced.
    var deadline: ContinuousClock.Instant?
    var statistics = LogStatistics()
    var trust = LogTrust.none
    /// Where reading goes on, for a log that is followed; stays what opening found otherwise.
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
  }
}
