// Syncs commits of relaxed durability in time, unless another sync does so before.

internal import Dispatch

extension GroupCommit {
  /// Schedules a sync for the relaxed commits of a batch.
  func scheduleSync(for batch: Batch, _ state: inout State) {
    var soonest: Duration?
    for frame in batch.frames {
      if case .relaxed(let within) = frame.durability { soonest = min(soonest ?? within, within) }
    }
    if let soonest { scheduleSync(within: soonest, &state) }
  }

  /// Schedules a sync of the written commits.
  func scheduleSync(within soonest: Duration, _ state: inout State) {
    let deadline = ContinuousClock.now + soonest
    if let armed = state.deadline, armed <= deadline { return }
    state.deadline = deadline
    Alarm.shared.after(soonest) { [weak self] in
      DispatchQueue.global().async { [weak self] in self?.syncIfDue(deadline) }
    }
  }

  /// Syncs unless a sync has happened since the deadline was set.
  private func syncIfDue(_ deadline: ContinuousClock.Instant) {
    monitor.enter { held in
      while held.state.isLeading { held.wait(for: idle) }
      guard !held.state.isClosed, held.state.poison == nil, held.state.deadline == deadline else {
        return
      }
      lead(held, atLeast: .full)
    }
  }
}
