// The replicas of a log as they report themselves, and the wish that one of them leads.

internal import Foundation
internal import TreeRing
public import TreeRingReplication

/// A report of a replica.
public struct ReplicaReport: Codable, Hashable, Sendable {
  /// The replica's name.
  public var name: String
  /// The machine that it runs on.
  public var host: String
  /// Whether it leads, as far as it knows.
  public var isLeading: Bool
  /// The newest commit that it has.
  public var commit: UInt64
  /// The newest entry of the log that it has taken.
  public var sequence: UInt64
  /// The number of entries by which the log was ahead.
  public var lag: UInt64
  /// The reason why the log does not answer, or the error that ended the following.
  public var problem: String?

  /// Describes a replica now.
  public init(_ status: ReplicaStatus, name: String, host: String) {
    self.name = name
    self.host = host
    isLeading = status.isLeading
    commit = status.commit
    sequence = status.sequence
    lag = status.lag
    problem = status.failure.map { "\($0)" } ?? status.problem
  }
}

/// The bucket `NAME_replicas`, where NAME is the log's stream. A report that is not renewed for ten
/// seconds is gone.
public final class ReplicaRegistry: Sendable {
  private let bucket: KeyValueBucket
  private static let limit = Duration.seconds(2)

  /// Creates a registry. It connects at its first call.
  public init(_ options: JetStreamOptions) {
    bucket = KeyValueBucket(
      "\(options.stream)_replicas", lifetime: .seconds(10), options: options, link: Link(options))
  }

  /// Publishes the report of a replica.
  public func publish(_ report: ReplicaReport) throws {
    let value = [UInt8](try JSONEncoder().encode(report))
    _ = try bucket.put(
      value, for: "replica.\(Self.token(report.name))", after: nil, within: Self.limit)
  }

  /// The reports of the last ten seconds, by name.
  public func reports() throws -> [ReplicaReport] {
    try bucket.keys(within: Self.limit).filter { $0.hasPrefix("replica.") }
      .compactMap { key in
        try bucket.get(key, within: Self.limit).map {
          try JSONDecoder().decode(ReplicaReport.self, from: Data($0.value))
        }
      }
      .sorted { $0.name < $1.name }
  }

  /// Asks a replica to lead. It sees that within a second, if it runs.
  public func ask(_ name: String) throws {
    _ = try bucket.put(Array(name.utf8), for: "wanted", after: nil, within: Self.limit)
  }

  /// Takes the wish that a replica leads, if there is one.
  public func takeWish(for name: String) throws -> Bool {
    guard let wish = try bucket.get("wanted", within: Self.limit),
      String(decoding: wish.value, as: UTF8.self) == name
    else { return false }
    return try bucket.put([], for: "wanted", after: wish.revision, within: Self.limit)
  }

  /// A name as a part of a subject.
  private static func token(_ name: String) -> String {
    name.utf8.map { byte in
      let isPlain =
        (48...57).contains(byte) || (65...90).contains(byte & ~32) || byte == 45
      return isPlain ? String(UnicodeScalar(byte)) : "_" + String(byte, radix: 16)
    }.joined()
  }
}
