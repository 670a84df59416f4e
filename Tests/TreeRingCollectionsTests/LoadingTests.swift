// Loading step by step: the precedence of results, cancellation, and the order of notifications.

import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingCollections

private func place(_ number: Double, _ key: String) -> ChildPosition {
  ChildPosition(order: .number(number), key: key)
}

/// A data source that lists the running prepares and the cancelled ones.
private final class WatchedDataSource: CollectionDataSource {
  let running = Mutex<[Int: CheckedContinuation<Void, Never>]>([:])
  let cancelled = Mutex<[Int]>([])

  func prepare(_ data: NoteData) async throws -> NoteModel? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        running.withLock { $0[data.number] = continuation }
      }
    } onCancel: {
      cancelled.withLock { $0.append(data.number) }
    }
    return data.note
  }

  func end(_ number: Int) {
    running.withLock { $0.removeValue(forKey: number) }?.resume()
  }
}

@Suite struct LoadingTests {
  private let source = ScriptedSource()
  private let executor = TestExecutor()
  private var random = SeededGenerator(seed: 1)

  private func collection<Source: CollectionDataSource<NoteData, NoteModel>>(
    _ dataSource: Source, _ mode: LoadingMode,
    deliver: @escaping @Sendable (_ body: @escaping @Sendable () -> Void) -> Void = { $0() }
  ) -> LiveCollection<NoteModel> {
    LiveCollection(
      source: source, dataSource: dataSource,
      options: CollectionOptions(
        order: .source, mode: mode, prepareTimeout: nil, clock: TestClock(), executor: executor,
        deliver: deliver))
  }

  /// Lets a requested page arrive.
  private mutating func openPage() {
    executor.run(using: &random)
    #expect(source.pages.open(.success(()), using: &random))
    executor.run(using: &random)
  }

  private mutating func end(_ number: Int, in dataSource: WatchedDataSource) {
    dataSource.end(number)
    executor.run(using: &random)
  }

  @Test mutating func theListenersEventsAreNewerThanAPageReadAtTheSameTime() {
    let dataSource = WatchedDataSource()
    let collection = collection(dataSource, .paged(batchSize: 2))
    for key in 1...4 {
      source.truth.set(NoteData(number: key * 1000), at: place(Double(key), "\(key)"))
    }
    collection.startLoading()
    openPage()
    for key in 1...2 { end(key * 1000, in: dataSource) }
    while source.letEventThrough() {}
    #expect(collection.shown.map(\.identifier) == ["1", "2"])
    // The second page is read with child 4 at its end. Before it arrives, 4 moves to the front.
    collection.startLoading()
    executor.run(using: &random)
    source.truth.set(NoteData(number: 4001), at: place(0, "4"))
    source.truth.set(NoteData(number: 4002), at: place(1.5, "4"))
    while source.letEventThrough() {}
    executor.run(using: &random)
    end(4002, in: dataSource)
    #expect(collection.shown.map(\.identifier) == ["1", "4", "2"])
    openPage()
    #expect(dataSource.running.withLock(\.keys).sorted() == [3000, 4001])
    end(3000, in: dataSource)
    #expect(collection.shown.map(\.identifier) == ["1", "4", "2", "3"])
    while source.letEventThrough() {}
    #expect(collection.shown.map(\.identifier) == ["1", "4", "2", "3"])
    #expect(collection.model("4")?.number == 2)
    end(4001, in: dataSource)
    #expect(collection.model("4")?.number == 2)
  }

  @Test mutating func aStateDoesNotRemoveAChildBeingPreparedForAnotherPosition() {
    let dataSource = WatchedDataSource()
    let collection = collection(dataSource, .paged(batchSize: 2))
    for key in 1...4 {
      source.truth.set(NoteData(number: key * 1000), at: place(Double(key), "\(key)"))
    }
    collection.startLoading()
    openPage()
    for key in 1...2 { end(key * 1000, in: dataSource) }
    while source.letEventThrough() {}
    collection.startLoading()
    openPage()
    // The listener does not yet cover the second page when child 4 moves into the first.
    source.truth.set(NoteData(number: 4001), at: place(1.5, "4"))
    for key in 3...4 { end(key * 1000, in: dataSource) }
    #expect(collection.count == 4)
    while source.letEventThrough() {}
    executor.run(using: &random)
    #expect(collection.count == 4)
    end(4001, in: dataSource)
    #expect(collection.shown.map(\.identifier) == ["1", "4", "2", "3"])
  }

  @Test mutating func preparesRunConcurrentlyAndSupersededOnesAreCancelled() {
    let dataSource = WatchedDataSource()
    let collection = collection(dataSource, .live)
    collection.startLoading()
    executor.run(using: &random)
    for key in 1...3 {
      source.truth.set(NoteData(number: key * 1000), at: place(Double(key), "\(key)"))
    }
    while source.letEventThrough() {}
    executor.run(using: &random)
    #expect(dataSource.running.withLock(\.keys).sorted() == [1000, 2000, 3000])
    source.truth.set(NoteData(number: 1001), at: place(1, "1"))
    source.truth.remove("2")
    while source.letEventThrough() {}
    executor.run(using: &random)
    #expect(dataSource.cancelled.withLock { $0.sorted() } == [1000, 2000])
    // In reverse order: rows keep the order of the source, and old results are ignored.
    for number in [3000, 1001, 2000, 1000] { end(number, in: dataSource) }
    #expect(collection.shown.map(\.identifier) == ["1", "3"])
    #expect(collection.model("1")?.number == 1)
    collection.stop()
  }

  @Test mutating func aChildMissingFromASecondStateIsNotShownThoughItsPrepareIsRunning() {
    let dataSource = WatchedDataSource()
    let collection = collection(dataSource, .live)
    for key in 1...2 {
      source.truth.set(NoteData(number: key * 1000), at: place(Double(key), "\(key)"))
    }
    collection.startLoading()
    while source.letEventThrough() {}
    executor.run(using: &random)
    let stays = SourceChild(NoteData(number: 1000), at: place(1, "1"))
    source.say(.state(PositionRange(), [stays]))
    executor.run(using: &random)
    #expect(dataSource.cancelled.withLock(\.self) == [2000])
    for key in 1...2 { end(key * 1000, in: dataSource) }
    #expect(collection.shown.map(\.identifier) == ["1"])
    #expect(collection.loadingState == .loaded(hasMore: false))
    collection.stop()
  }

  @Test mutating func listenersBeginAfterTheFirstPage() {
    let dataSource = WatchedDataSource()
    for mode in [LoadingMode.whole, .paged(batchSize: 2)] {
      source.listenerCount.withLock { $0 = 0 }
      let collection = collection(dataSource, mode)
      source.truth.set(NoteData(number: 1000), at: place(1, "1"))
      collection.startLoading()
      executor.run(using: &random)
      #expect(source.listenerCount.withLock(\.self) == 0)
      openPage()
      #expect(source.listenerCount.withLock(\.self) == 0)
      end(1000, in: dataSource)
      #expect(source.listenerCount.withLock(\.self) == 1)
      collection.stop()
    }
  }

  @Test mutating func changesProcessedInARowEndWithOneDidChange() {
    let bodies = Mutex<[@Sendable () -> Void]>([])
    let collection = collection(
      WatchedDataSource(), .live, deliver: { body in bodies.withLock { $0.append(body) } })
    let observers = (MirrorObserver(), MirrorObserver())
    collection.add(observers.0)
    collection.add(observers.1)
    for key in 1...3 { collection.set(NoteModel(identifier: "\(key)", text: nil, number: key)) }
    collection.remove("nobody")
    #expect(collection.count == 0)
    let waiting = bodies.withLock { bodies in
      defer { bodies = [] }
      return bodies
    }
    #expect(waiting.count == 1)
    for body in waiting { body() }
    for observer in [observers.0, observers.1] {
      #expect(
        observer.state.withLock(\.events) == ["change", "change", "change", "did change"])
      #expect(observer.state.withLock(\.list) == collection.shown)
    }
  }

  @Test func anObserverIsNotifiedUntilItIsRemovedOrReleased() {
    let collection = collection(WatchedDataSource(), .live)
    let (stays, leaves) = (MirrorObserver(), MirrorObserver())
    weak var gone: MirrorObserver?
    do {
      let observer = MirrorObserver()
      gone = observer
      collection.add(observer)
      collection.add(stays)
      collection.add(leaves)
      collection.set(NoteModel(identifier: "1", text: nil, number: 1))
      #expect(observer.state.withLock(\.events).count == 2)
    }
    #expect(gone == nil)
    collection.remove(leaves)
    collection.set(NoteModel(identifier: "2", text: nil, number: 2))
    #expect(stays.state.withLock(\.list) == collection.shown)
    #expect(leaves.state.withLock(\.list).count == 1)
    // Silently: observers are not called, and reads are right.
    collection.update("1", with: ["number": .number(9)], silently: true)
    collection.remove("2", silently: true)
    #expect(stays.state.withLock(\.events).count == 4)
    #expect(collection.shown.map(\.number) == [9])
  }

  @Test mutating func aFailedListenerEndsALiveLoadOrReportsItsError() {
    let dataSource = WatchedDataSource()
    let observer = MirrorObserver()
    let live = collection(dataSource, .live)
    live.add(observer)
    live.startLoading()
    executor.run(using: &random)
    source.say(.failed(ScriptFailure()))
    #expect(live.loadingState == .failed)
    #expect(observer.state.withLock(\.outcomes).last?.error is ScriptFailure)
    // Loading again starts a new listener.
    #expect(live.startLoading() == .started)
    while source.letEventThrough() {}
    executor.run(using: &random)
    #expect(live.loadingState == .loaded(hasMore: false))
    #expect(live.startLoading() == .atEnd)
    source.say(.failed(ScriptFailure()))
    let failures = observer.state.withLock(\.failures)
    #expect(failures.map(\.key) == [nil])
    #expect(failures.first?.error is ScriptFailure)
    live.stop()
  }

  @Test mutating func aLiveLoadMayBeCancelledAndRepeated() {
    let collection = collection(WatchedDataSource(), .live)
    let observer = MirrorObserver()
    collection.add(observer)
    collection.startLoading()
    #expect(collection.startLoading() == .joined)
    collection.cancelLoad()
    #expect(collection.loadingState == .failed)
    let error = observer.state.withLock(\.outcomes).last?.error as? TreeRingError
    #expect(error?.code == .cancelled)
    collection.cancelLoad()
    #expect(observer.state.withLock(\.outcomes).count == 1)
    #expect(collection.startLoading() == .started)
    while source.letEventThrough() {}
    #expect(collection.loadingState == .loaded(hasMore: false))
  }
}
