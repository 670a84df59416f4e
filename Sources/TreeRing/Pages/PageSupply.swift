// Pages that are fetched when they are first touched.
//
// Reading a tree does not throw: a search would pay for it at every page, and a page is touched for
// the first time once. So a fetch that fails is counted, and the reader gets a substitute, an empty
// leaf, on which every operation is safe and finds nothing. Whoever began the read section compares
// the count at its end and throws the error instead of what was read.

internal import Synchronization
package import TreeRingLog

/// Brings pages from where they are kept.
package final class PageSupply: Sendable {
  /// The page's checked bytes, at an address in foreign memory that stays valid as long as the page
  /// store; the same address whenever the same page is asked for. The birth is what the entry that
  /// names the page states. Called from any thread.
  package typealias Fetch =
    @Sendable (PageNumber, PageBirth) throws(TreeRingError) -> UnsafeMutableRawPointer

  private let fetch: Fetch
  private let failures = Atomic<UInt64>(0)
  private let failure = Mutex<TreeRingError?>(nil)
  private let substituteAddress: UInt

  /// A supply that asks `fetch`.
  package init(_ fetch: @escaping Fetch) {
    self.fetch = fetch
    let bytes = UnsafeMutableRawPointer.allocate(
      byteCount: PageLayout.pageByteCount, alignment: 8)
    Page(bytes: bytes).initialize(number: 0, birth: 0, owner: 0, level: 0)
    substituteAddress = UInt(bitPattern: bytes)
  }

  deinit { UnsafeMutableRawPointer(bitPattern: substituteAddress)?.deallocate() }

  /// How many fetches have failed.
  package var failureCount: UInt64 { failures.load(ordering: .acquiring) }
  /// The error of the latest failed fetch.
  package var lastFailure: TreeRingError? { failure.withLock { $0 } }

  /// The page, or the substitute if it cannot be had.
  func fetchPage(
    _ number: PageNumber, birth: PageBirth
  ) -> (bytes: UnsafeMutableRawPointer, isPage: Bool) {
    do {
      return (try fetch(number, birth), true)
    } catch {
      failure.withLock { $0 = error }
      return (noteFailure(), false)
    }
  }

  /// Counts a failure and gives the substitute.
  func noteFailure() -> UnsafeMutableRawPointer {
    failures.add(1, ordering: .releasing)
    guard let substitute = UnsafeMutableRawPointer(bitPattern: substituteAddress) else {
      preconditionFailure("the substitute page is gone")
    }
    return substitute
  }
}
