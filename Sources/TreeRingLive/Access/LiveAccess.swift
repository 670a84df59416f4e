// The rights of a client: a role, and the buckets and indexes that it may see.
//
// A client with limits sees only those buckets, and those indexes all of whose buckets it may see.
// Everything that concerns the whole store is closed to it: the log, statistics, metrics, tags.

public import TreeRing
internal import TreeRingLog

/// The rights of a client.
public struct LiveAccess: Sendable, Hashable {
  /// The kind of actions allowed; each role includes those before it.
  public enum Role: String, Sendable, Hashable, CaseIterable {
    /// Reading.
    case read
    /// Also writing rows and tags.
    case write
    /// Also defining indexes.
    case admin

    /// Whether this role includes another one.
    public func includes(_ other: Role) -> Bool { rank >= other.rank }

    private var rank: Int {
      switch self {
      case .read: 0
      case .write: 1
      case .admin: 2
      }
    }
  }

  /// The role.
  public let role: Role
  /// The only buckets allowed; nil allows all.
  public let buckets: Set<StoreName>?
  /// The only indexes allowed; nil allows all of the allowed buckets.
  public let indexes: Set<StoreName>?

  /// The rights of a role.
  ///
  /// - Parameters:
  ///   - role: The kinds of requests that are allowed.
  ///   - buckets: The only buckets allowed; nil allows all.
  ///   - indexes: The only indexes allowed; nil allows all of the allowed buckets.
  public init(_ role: Role, buckets: [String]? = nil, indexes: [String]? = nil) {
    self.role = role
    self.buckets = buckets.map { Set($0.map { StoreName($0) }) }
    self.indexes = indexes.map { Set($0.map { StoreName($0) }) }
  }

  /// Whether the client may see the whole store.
  var isUnlimited: Bool { buckets == nil && indexes == nil }

  package func allows(bucket: String) -> Bool { buckets?.contains(StoreName(bucket)) ?? true }

  func allows(_ index: IndexInfo) -> Bool {
    (indexes?.contains(StoreName(index.name)) ?? true)
      && index.buckets.allSatisfy { allows(bucket: $0) }
  }

  /// Throws unless the client may see a bucket.
  func check(bucket: String) throws(TreeRingError) {
    if !allows(bucket: bucket) { throw Self.refusal("the bucket \(bucket)") }
  }

  /// Throws unless the client may see an index, or if there is no such index.
  ///
  /// - Parameter indexes: The indexes as they are defined where the index is read.
  func check(
    index name: String, among indexes: @autoclosure () -> [IndexInfo]
  ) throws(TreeRingError) {
    if isUnlimited { return }
    let index = indexes().first { $0.name.utf8.elementsEqual(name.utf8) }
    guard let index, allows(index) else { throw Self.refusal("the index \(name)") }
  }

  /// Throws unless the client may see the whole store.
  func checkUnlimited() throws(TreeRingError) {
    if !isUnlimited { throw Self.refusal("the whole store") }
  }

  /// Throws unless the role includes another one.
  func check(_ needed: Role) throws(TreeRingError) {
    if !role.includes(needed) {
      throw TreeRingError(
        .notAllowed, "The token's role is \(role.rawValue); this needs \(needed.rawValue).")
    }
  }

  private static func refusal(_ what: String) -> TreeRingError {
    TreeRingError(.notAllowed, "The token does not allow \(what).")
  }
}
