// Observers of the durations of commits and syncs.

extension Store {
  /// Adds an observer of the durations of commits and syncs, which the store keeps until it is
  /// removed. While there is one, each write and each sync reads the clock twice; otherwise they
  /// do not. O(observers).
  public func addDurationObserver(_ observer: some DurationObserver) {
    durations.change(log) { $0.append(observer) }
  }

  /// Removes an observer. A write or a sync under way may still call it. Does nothing if it was not
  /// added. O(observers).
  public func removeDurationObserver(_ observer: some DurationObserver) {
    durations.change(log) { $0.removeAll { $0 === observer } }
  }
}
