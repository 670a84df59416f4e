// The check of a store's versions when it is opened.

internal import TreeRingLog

extension Store {
  /// Checks the versions of buckets, and stores those that are new.
  /// - Throws: `newerVersion` if the store has a later one.
  func checkVersions(of buckets: [any VersionedBucket], records: Bool = true) throws {
    if buckets.isEmpty { return }
    let known = try readingNewest { snapshot in
      try buckets.map { try snapshot.storedVersion(of: $0.bucketName)?.version ?? 1 }
    }
    for (bucket, stored) in zip(buckets, known) where stored > bucket.version {
      throw TreeRingError.newer(stored, of: bucket.bucketName, than: bucket.version)
    }
    let risen = zip(buckets, known).filter { $0.version > $1 }.map(\.0)
    if risen.isEmpty || options.mode == .readOnly || !records { return }
    try write { tx in
      tx.takesDateOfNewest = true
      for bucket in risen { try tx.raiseVersion(of: bucket.bucketName, to: bucket.version) }
    }
  }
}
