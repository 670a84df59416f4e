// The rows and indexes that hold streams. Streams of one bucket share them:
//
//   BUCKET              an event each: the key is the stream and the revision, the object the
//                       content, the metadata the envelope
//   BUCKET.streams      settings of a stream, under its name
//   BUCKET.categories   index: events by category, and all of them
//   BUCKET.ids          index: events by id

internal import TreeRing
internal import TreeRingLog

/// The names of what holds the streams of a bucket. A class, since every append passes them around.
final class StreamNames: Sendable {
  let events: Bucket<[UInt8]>
  let settings: Bucket<StreamSettings>
  let categories: String
  let ids: String

  /// The names of a bucket's streams.
  static func of(_ bucket: String) -> StreamNames {
    bucket.isSameName(as: usual.events.name) ? usual : StreamNames(bucket)
  }

  /// The names in the bucket that streams have unless another is given.
  private static let usual = StreamNames("events")

  private init(_ bucket: String) {
    events = .bytes(bucket)
    settings = Bucket(bucket + ".streams")
    categories = bucket + ".categories"
    ids = bucket + ".ids"
  }

  /// Checks a stream's name.
  /// - Throws: `invalidInput` if it is empty, begins with "$" or holds a zero byte; `tooLarge` if
  ///   it has more than 255 bytes.
  static func check(_ stream: String) throws(TreeRingError) {
    try Limits.check(name: stream, of: "stream")
    guard !stream.hasPrefix("$"), !stream.utf8.contains(0) else {
      throw TreeRingError(
        .invalidInput,
        "The name of a stream must not begin with “$” nor hold a zero byte, as "
          + "\(stream.debugDescription) does. Choose another name.")
    }
  }

  /// Defines the indexes unless they are in force.
  func define(in tx: Transaction) throws(TreeRingError) {
    let bucket = events.name
    try tx.define(categories, version: 1, .events(.categories, bucket: bucket))
    try tx.define(ids, version: 1, .events(.ids, bucket: bucket))
  }
}

/// The row of a stream that has been truncated, or whose events are limited.
struct StreamSettings: Codable, Hashable {
  /// The number of events to keep; nil for all.
  var maxCount: UInt64?
  /// The least revision of the next event, because later ones were deleted; nil for none.
  var next: UInt64?
}
