// A commit of another log that a transaction copies.

/// The parts of a commit that its copy keeps byte for byte.
struct AdoptedCommit {
  var payload: [UInt8]
  var operationCount: UInt32
  /// The whole frame, if nothing in it changes; nil if the log has to encode the commit.
  var frame: [UInt8]?
}
