// The time that tests wait for what must come.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The longest time that a test waits for what must come: a minute, since machines may be busy. The
/// environment variable TREERING_PATIENCE, in seconds, replaces it where nothing is expected.
package let patience = Duration.seconds(
  ProcessInfo.processInfo.environment["TREERING_PATIENCE"].flatMap(Int.init) ?? 60)
