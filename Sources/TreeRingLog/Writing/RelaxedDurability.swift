// Syncing commits of relaxed durability in time, when nobody else syncs before.

internal import Dispatch

extension GroupCommit {
  /// Sees to it that relaxed commits are synced in time.
  func arm(_ batch: Batch) {
    var soonest: Duration?
    for frame in batch.frames {
      if case .relaxed(let within) = frame.durability { soonest = min(soonest ?? within, within) }
    }
    guard let soonest else { return }
    let deadline = ContinuousClock.now + soonest
    if let armed = state.deadline, armed <= deadline { return }
    state.deadline = deadline
    let (seconds, attoseconds) = soonest.components
    let nanoseconds = min(max(seconds, 0), 1 << 30) * 1_000_000_000 + attoseconds / 1_000_000_000
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(nanoseconds))) {
      [weak self] in self?.syncIfDue(deadline)
    }
  }

  /// Syncs unless it has happened since the deadline was set.
  private func syncIfDue(_ deadline: ContinuousClock.Instant) {
    monitor.lock()
    defer { monitor.unlock() }
    while state.isLeading { idle.wait(monitor) }
    guard !state.isClosed, state.poison == nil, state.deadline == deadline else { return }
    lead(atLeast: .full)
  }
}
