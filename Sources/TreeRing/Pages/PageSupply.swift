// Pages that are fetched on first access.
//
// Reading a tree does not throw: a search would pay for it at every page, and a page is fetched
// only once. So the supply counts a failed fetch, and the reader gets a substitute: an empty leaf,
// on which every operation is safe and finds nothing. A read section belongs to one thread, so
// failures are recorded by thread. At its end the section throws its own thread's error instead of
// returning a result. Other threads continue.

package import TreeRingLog
internal import TreeRingPlatform

/// Fetches pages from their storage.
package final class PageSupply: Sendable {
  /// Returns the page's checked bytes in foreign memory. Every call for the same page returns the
  /// same address, which stays valid as long as the page store. The birth is the one that the
  /// referring entry states. Any thread.
  typealias Fetch =
    @Sendable (PageNumber, PageBirth) throws(TreeRingError) -> UnsafeMutableRawPointer

  /// Reads and checks a page's bytes as `Fetch` does, but into the caller's memory.
  typealias Read =
    @Sendable (PageNumber, PageBirth, UnsafeMutableRawPointer) throws(TreeRingError) -> Void

  /// Makes the error for a damaged page from its flaw, in words, and its number.
  typealias Damage = @Sendable (String, PageNumber) -> TreeRingError

  private let fetch: Fetch
  private let read: Read?
  private let damage: Damage
  private struct Failures {
    var latest: TreeRingError?
    /// The latest failure of each thread, and the count at that failure.
    var byThread: [UInt: (count: UInt64, error: TreeRingError)] = [:]
  }
  private let failures = Mutex(Failures())
  /// The number of failures. Changed under the lock of `failures`, read without it.
  private let count = Atomic<UInt64>(0)
  private let substituteAddress: UInt

  /// Creates a supply that calls `fetch`, and makes its own errors with `damage`.
  /// - Parameter read: nil if pages can only be fetched.
  init(
    damage: @escaping Damage = {
      TreeRingError(
        .corruption, "Page \($1) is not what was written: \($0). Run `treering verify`.")
    }, read: Read? = nil, _ fetch: @escaping Fetch
  ) {
    self.fetch = fetch
    self.read = read
    self.damage = damage
    let bytes = UnsafeMutableRawPointer.allocate(
      byteCount: PageLayout.pageByteCount, alignment: 8)
    // All of it: a reader that has kept an index into the page that the substitute stands for reads
    // there, and finds page 0.
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: PageLayout.pageByteCount)
    Page(bytes: bytes).initialize(number: 0, birth: 0, owner: 0, level: 0)
    substituteAddress = UInt(bitPattern: bytes)
  }

  deinit { UnsafeMutableRawPointer(bitPattern: substituteAddress)?.deallocate() }

  /// The number of failed fetches, on all threads.
  var failureCount: UInt64 { count.load(ordering: .acquiring) }
  /// The error of the latest failed fetch.
  var lastFailure: TreeRingError? { failures.withLock { $0.latest } }

  /// The error of this thread's latest failed fetch since `failureCount` was `earlier`; nil if
  /// there is none.
  @inline(__always)
  package func failure(since earlier: UInt64) -> TreeRingError? {
    failureCount == earlier ? nil : ownFailure(since: earlier)
  }

  @inline(never)
  private func ownFailure(since earlier: UInt64) -> TreeRingError? {
    failures.withLock { failures in
      guard let own = failures.byThread[Platform.currentThread], own.count > earlier else {
        return nil
      }
      return own.error
    }
  }

  /// The page, or the substitute if the fetch fails.
  func fetchPage(
    _ number: PageNumber, birth: PageBirth
  ) -> (bytes: UnsafeMutableRawPointer, isPage: Bool) {
    do {
      return (try fetch(number, birth), true)
    } catch {
      return (refuse(error), false)
    }
  }

  /// Reads a page into the caller's memory.
  /// - Returns: Whether that succeeded. A failure is not counted: `fetchPage` will find its cause.
  func readPage(
    _ number: PageNumber, birth: PageBirth, into bytes: UnsafeMutableRawPointer
  ) -> Bool {
    guard let read else { return false }
    do {
      try read(number, birth, bytes)
      return true
    } catch { return false }
  }

  /// Counts a page as a failed fetch because of a flaw, and returns the substitute.
  func refuse(_ flaw: String, page number: PageNumber) -> UnsafeMutableRawPointer {
    refuse(damage(flaw, number))
  }

  /// Counts a failure of this thread, and returns the substitute.
  @discardableResult
  func refuse(_ error: TreeRingError) -> UnsafeMutableRawPointer {
    failures.withLock { failures in
      let number = count.add(1, ordering: .releasing).newValue
      failures.latest = error
      failures.byThread[Platform.currentThread] = (number, error)
    }
    guard let substitute = UnsafeMutableRawPointer(bitPattern: substituteAddress) else {
      preconditionFailure("the substitute page is gone")
    }
    return substitute
  }

  /// Counts the same failure again for a page that could not be fetched before, and returns the
  /// substitute.
  func refuseAgain() -> UnsafeMutableRawPointer {
    let known = failures.withLock { $0.byThread[Platform.currentThread]?.error ?? $0.latest }
    return refuse(
      known
        ?? TreeRingError(.io, "A page could not be read. Run `treering verify` to see why."))
  }
}
