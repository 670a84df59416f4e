// The trait of suites whose tests must leave sound stores; see WrittenStores. Each test target
// links to this file, because a target that is no test target cannot use traits.

import TestSupport
import Testing

@testable import TreeRing

extension Trait where Self == SoundStores {
  /// Requires that the stores which tests of the suite have written are sound at the end.
  static var leavesSoundStores: Self { SoundStores() }
}

/// Checks the stores that a test has opened for writing.
struct SoundStores: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  // Swift 6.3 crashes in an optimised `TaskLocal.withValue`.
  @_optimize(none)
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let written = WrittenStores()
    try await TemporaryFolder.$whenMade.withValue({ written.keep($0) }) {
      try await notingStores(in: written, function)
    }
    for problem in written.problems() { Issue.record("A store is not sound: \(problem)") }
  }

  @_optimize(none)
  private func notingStores(
    in written: WrittenStores, _ function: @Sendable () async throws -> Void
  ) async throws {
    try await Store.$whenOpened.withValue({ written.note($0, $1, $2) }) { try await function() }
  }
}
