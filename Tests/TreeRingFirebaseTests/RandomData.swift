// Nodes and paths of plain data.

import TestSupport

@testable import TreeRingFirebase

extension PlainData {
  /// The node that the product makes of the data.
  func node() throws -> FirebaseNode { try FirebaseNode(json: json(exporting: true).utf8) }
}

/// A path below the location of a test.
func path(_ names: [String]) throws -> FirebasePath {
  try FirebasePath("/" + names.joined(separator: "/"))
}
