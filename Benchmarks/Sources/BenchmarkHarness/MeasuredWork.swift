// Work whose instructions valgrind counts.

internal import CBenchmarkClock

/// The measured part of a program under valgrind's callgrind, which counts only inside of the
/// function `benchmark_measured`.
public struct MeasuredWork {
  public init() {}

  /// Runs `body` inside of that function.
  public func measure(_ body: () throws -> Void) throws {
    var failure: (any Error)?
    try withoutActuallyEscaping(body) { body in
      let call = Call {
        do { try body() } catch { failure = error }
      }
      withExtendedLifetime(call) {
        benchmark_measured(
          { context in
            if let context { Unmanaged<Call>.fromOpaque(context).takeUnretainedValue().body() }
          }, Unmanaged.passUnretained(call).toOpaque())
      }
      if let failure { throw failure }
    }
  }

  private final class Call {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
}
