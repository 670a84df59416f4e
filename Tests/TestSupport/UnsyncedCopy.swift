// A copy of a store's log as `cp -r` makes it.

import TreeRingLog

extension SimulatedFileSystem {
  /// A new disk with the log of a store. Of it only the name of the store's folder is synced, since
  /// that is the business of the folder's creator.
  package func unsyncedLog(ofStore store: String, seed: UInt64) throws -> SimulatedFileSystem {
    let copy = SimulatedFileSystem(seed: seed)
    try copy.makeDirectory(store)
    try copy.syncDirectory("")
    try copy.makeDirectory("\(store)/log")
    for name in try list("\(store)/log") {
      let path = "\(store)/log/\(name)"
      let file = try copy.open(path, .createNew)
      try (contents(of: path) ?? []).withUnsafeBytes { (bytes) throws(TreeRingError) in
        try file.write(bytes, at: 0)
      }
    }
    return copy
  }
}
