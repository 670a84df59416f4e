// The change of the leader, and reads of what other replicas have written.

public import TreeRing
internal import TreeRingLog
internal import TreeRingPlatform

extension Replica {
  /// Begins to lead: appends an entry that states it to the shared log, and takes over every commit
  /// before that. The replica that led before gets `notLeader` at its next write. Blocks until this
  /// replica leads. If it fails after its entry, none leads until the next call.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `unavailable` if the log does not answer within the limit of the options;
  ///   `diverged`, `corruption`, `beyondHorizon` as the opening; `notAllowed` inside the closure of
  ///   a write; `closed`.
  public func lead() throws {
    try store.checkOutsideWrite()
    candidate?.take()
    try beginToLead()
  }

  /// The entry of a new leader goes behind whatever is there, and so fences the old leader at once.
  /// Only then does this replica take over the commits before it: a leader that writes without a
  /// pause would otherwise always be ahead.
  func beginToLead() throws {
    try taking.withLock { taking in
      try checkOpen()
      if leadership.isLeading { return }
      let reader = LogReader(log: log, deadline: .now + options.limit)
      var last = try checkedEnd(&taking, reader)
      var header = try reader.header(last)
      while true {
        let outcome = leadership.claim(
          after: LogPlace(sequence: last, id: header.id), newest: header.newest,
          name: options.name)
        switch outcome {
        case .appended(let place):
          try catchUp(&taking, through: place.sequence, reader)
          taking.mayHavePending = true
          leadership.begin(at: place, newest: store.newestCommit)
          return try store.beginLeading()
        case .overtaken(let entry, let number):
          guard .now < reader.deadline else {
            throw TreeRingError(
              .unavailable,
              "Another replica appended an entry before each attempt to lead, for "
                + "\(options.limit). Repeat the call, or let that replica step down.")
          }
          // A leader under load appends again as soon as it has an answer. What it appends is here
          // by then, so the next attempt needs no question that would make it late.
          (last, header) = try reader.newest(from: entry, at: number)
        case .setBack(let end):
          throw EntryAssembly.diverged(end + 1, "the log ends before entry \(last), seen in it")
        case .refused(let text), .unknown(let text):
          throw TreeRingError(
            .unavailable, "The shared log did not take the entry of a new leader: \(text).")
        }
      }
    }
  }

  /// The number of the newest entry of a log that goes on from what this replica has taken. Nothing
  /// is appended to any other.
  /// - Throws: `diverged` if the log still ends earlier at the deadline, or has another entry.
  private func checkedEnd(_ taking: inout Taking, _ reader: LogReader) throws -> UInt64 {
    skipOwn(&taking)
    let place = taking.assembly.place
    var ends = try reader.ends()
    while ends.last < place.sequence {
      let pause = Duration.milliseconds(50)
      guard .now + pause < reader.deadline else {
        throw EntryAssembly.diverged(
          ends.last + 1, "the log ends before entry \(place.sequence), which this replica has taken"
        )
      }
      Platform.sleep(pause)
      ends = try reader.ends()
    }
    if let id = place.id, place.sequence >= ends.first,
      try reader.header(place.sequence).id != id
    {
      throw EntryAssembly.diverged(
        place.sequence, "this replica has taken another one of its number")
    }
    return ends.last
  }

  /// Ends leading. The store keeps following. With `ReplicaOptions.failover` another replica leads
  /// soon; without it, none does until one calls `lead`.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `notAllowed` inside the closure of a write; `closed`.
  public func stepDown() throws {
    try store.checkOutsideWrite()
    try checkOpen()
    endLeadingNow()
    candidate?.rest()
  }

  func endLeadingNow() {
    taking.withLock { taking in
      if leadership.isLeading { endLeading(&taking) }
    }
  }

  /// Waits until the store has every commit that any replica's write had returned before this call.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Throws: `unavailable` if that takes longer than the limit of the options; the error that has
  ///   ended the following; `notAllowed` inside the closure of a write; `closed`.
  public func catchUp() throws {
    try store.checkOutsideWrite()
    let reader = LogReader(log: log, deadline: .now + options.limit)
    try taking.withLock { taking in
      try checkOpen()
      try catchUp(&taking, through: reader.ends().last, reader)
    }
  }

  /// Takes every entry up to a number.
  private func catchUp(_ taking: inout Taking, through last: UInt64, _ reader: LogReader) throws {
    note { $0.last = max($0.last, last) }
    skipOwn(&taking)
    while taking.assembly.place.sequence < last {
      let first = taking.assembly.place.sequence + 1
      try take(try reader.entries(from: first), from: first, &taking)
    }
  }

  /// Removes the entries of the shared log that hold no commit from `commit` on. Make a backup of a
  /// replica that has `commit` first, and keep it: later replicas begin with that.
  ///
  /// It blocks its thread; in asynchronous code the name means the asynchronous form.
  ///
  /// - Parameter commit: The first commit to keep in the log.
  /// - Throws: `notFound` if this replica does not have the commit before it; `unavailable`;
  ///   `closed`.
  public func trimLog(before commit: CommitNumber) throws {
    try checkOpen()
    guard commit <= store.newestCommit + 1 else {
      throw TreeRingError(
        .notFound,
        "This replica ends with commit \(store.newestCommit), so the log is not trimmed up to "
          + "commit \(commit).", commit: commit)
    }
    let reader = LogReader(log: log, deadline: .now + options.limit)
    let ends = try reader.ends()
    guard let (sequence, header) = try reader.last(startingAtMost: commit, in: ends) else { return }
    // The first of all entries that begin there, and the first part of its batch.
    try reader.trim(before: max(sequence - UInt64(header.part), ends.first))
  }
}
