// The answers to requests about rows, groups and positions.

internal import TreeRing
internal import TreeRingLog
internal import TreeRingMappings

extension AnswerMaker {
  // MARK: - Buckets

  private func bucket() throws(TreeRingError) -> String {
    let bucket = try arguments.text(0)
    try access.check(bucket: bucket)
    return bucket
  }

  private func key(_ index: Int) throws(TreeRingError) -> Key {
    let bytes = arguments.bytes(index)
    guard let text = String(validating: bytes, as: UTF8.self) else { return Key(bytes: bytes) }
    return Key(bytes: try KeyText.bytes(text))
  }

  private func key(_ name: String) throws(TreeRingError) -> Key? {
    guard let bytes = arguments.bytes(name) else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else { return Key(bytes: bytes) }
    return Key(bytes: try KeyText.bytes(text))
  }

  func rows() throws(TreeRingError) -> LiveAnswer {
    let bucket = try bucket()
    let limit = try limit()
    let isReversed = try arguments.flag("reverse")
    let (conditions, filter) = try filter()
    let snapshot = try snapshot()
    try check(bucket: bucket, at: snapshot)
    let (lower, upper) = KeyRange.bounds(
      prefix: try key("prefix"), from: try key("from"), to: try key("to"))
    return try reading {
      try LiveAnswer { object in
        object.number("commit", snapshot.commit)
        var last: Key?
        var next: Key?
        var examinedCount = 0
        try object.list("rows") { list in
          try snapshot.forEachRow(in: bucket, from: lower, to: upper, reversed: isReversed) { row in
            let isFull = list.count >= limit || list.byteCount >= limits.pieceByteCount
            if isFull || examinedCount >= limits.examinedRows {
              // Forward a page begins with its first key; backward it ends before its last one.
              next = isReversed ? last : Key(bytes: row.key.bytes)
              return false
            }
            examinedCount += 1
            last = Key(bytes: row.key.bytes)
            if let filter, !row.object.withUnsafeBytes(filter.fits) { return true }
            list.object { $0.row(row) }
            return true
          }
        }
        if let next { object.key("next", next.bytes) } else { object.null("next") }
        if examinedCount >= limits.examinedRows, !conditions.isEmpty {
          object.text("advice", try advice(on: conditions, in: bucket, of: snapshot))
        }
      }
    }
  }

  /// The conditions of the request; the filter is nil without them.
  private func filter() throws(TreeRingError) -> (conditions: [String], filter: RowFilter?) {
    let conditions = try arguments.texts("where")
    return (conditions, conditions.isEmpty ? nil : try RowFilter(conditions))
  }

  /// The sentence that names the indexes that would serve the conditions, of those that the client
  /// may see.
  private func advice(
    on conditions: [String], in bucket: String, of snapshot: Snapshot
  ) throws(TreeRingError) -> String {
    try snapshot.indexes.filter { access.allows($0) }.advice(on: conditions, in: bucket)
  }

  private func check(bucket: String, at snapshot: Snapshot) throws(TreeRingError) {
    guard try snapshot.buckets().contains(where: { $0.name.utf8.elementsEqual(bucket.utf8) }) else {
      throw TreeRingError(
        .notFound, "There is no bucket \(bucket) at commit \(snapshot.commit).")
    }
  }

  func count() throws(TreeRingError) -> LiveAnswer {
    let bucket = try bucket()
    let (conditions, filter) = try filter()
    let first = try key("from")
    let snapshot = try snapshot()
    try check(bucket: bucket, at: snapshot)
    var count = 0
    var next: Key?
    if let filter {
      var examinedCount = 0
      try reading {
        try snapshot.forEachRow(in: bucket, from: first) { row in
          if examinedCount >= limits.examinedRows {
            next = Key(bytes: row.key.bytes)
            return false
          }
          examinedCount += 1
          if row.object.withUnsafeBytes(filter.fits) { count += 1 }
          return true
        }
      }
    } else {
      count = try snapshot.count(in: bucket, from: first)
    }
    var advice: String?
    if next != nil { advice = try self.advice(on: conditions, in: bucket, of: snapshot) }
    return LiveAnswer { object in
      object.number("commit", snapshot.commit)
      object.number("count", count)
      if let next { object.key("next", next.bytes) } else { object.null("next") }
      if let advice { object.text("advice", advice) }
    }
  }

  func row() throws(TreeRingError) -> LiveAnswer {
    let bucket = try bucket()
    let key = try key(1)
    let (row, commit): (StoredRow?, CommitNumber)
    if let point = try arguments.point("at") {
      commit = try point.commit(in: store)
      row = try store.row(key, in: bucket, at: .commit(commit))
    } else {
      let snapshot = try store.snapshot()
      (row, commit) = (try snapshot.row(key, in: bucket), snapshot.commit)
    }
    guard let row else {
      throw TreeRingError(
        .notFound, "There is no row \(key) in bucket \(bucket) at commit \(commit).")
    }
    return LiveAnswer { $0.row(row) }
  }

  func history() throws(TreeRingError) -> LiveAnswer {
    let bucket = try bucket()
    let key = try key(1)
    let limit = try limit()
    let first = try arguments.point("from")?.commit(in: store)
    return try reading {
      let page = try store.historyPage(
        of: key, in: bucket, from: first, limit: limit, byteLimit: limits.pieceByteCount)
      guard !page.versions.isEmpty || first != nil else {
        throw TreeRingError(.notFound, "There never was a row \(key) in bucket \(bucket).")
      }
      return LiveAnswer { object in
        object.list("versions") { list in
          for version in page.versions { list.object { $0.version(version) } }
        }
        if let next = page.next { object.number("next", next) } else { object.null("next") }
      }
    }
  }

  // MARK: - Indexes

  private func reader() throws(TreeRingError) -> IndexReader {
    try reader(at: try snapshot())
  }

  private func reader(at snapshot: Snapshot) throws(TreeRingError) -> IndexReader {
    let index = try arguments.text(0)
    try access.check(index: index, among: snapshot.indexes)
    try checkKind(of: index, isText: false, in: snapshot)
    return try snapshot.index(index)
  }

  /// Throws `notFound` if there is an index of the name, but of the kind that this path does not
  /// read.
  func checkKind(
    of index: String, isText: Bool, in snapshot: Snapshot
  ) throws(TreeRingError) {
    let info = snapshot.indexes.first { $0.name.utf8.elementsEqual(index.utf8) }
    guard let info, (info.text != nil) != isText else { return }
    throw TreeRingError(
      .notFound,
      isText
        ? "The index \(index) is no text index. Read its groups."
        : "The index \(index) is a text index, which has no groups. Search it with …/find?q=WORDS.")
  }

  func groups() throws(TreeRingError) -> LiveAnswer {
    let reader = try reader()
    let limit = try limit()
    let first = try key("from").map { GroupName(bytes: $0.bytes) }
    let groups = try reader.groupCounts(from: first, limit: limit + 1)
    return LiveAnswer { object in
      object.number("commit", reader.commit)
      object.list("groups") { list in
        for (group, rows) in groups.prefix(limit) { list.object { $0.group(group, rows: rows) } }
      }
      if groups.count > limit {
        object.key("next", groups[limit].group.bytes)
      } else {
        object.null("next")
      }
    }
  }

  /// The positions of the rows of a group within the bounds of the request.
  private func positions(
    in group: GroupName, of reader: IndexReader, at snapshot: Snapshot
  ) throws(TreeRingError) -> Range<Int> {
    try snapshot.positions(
      in: group, of: reader, from: try arguments.text("lower"), to: try arguments.text("upper"))
  }

  func groupCount() throws(TreeRingError) -> LiveAnswer {
    let snapshot = try snapshot()
    let reader = try reader(at: snapshot)
    let group = GroupName(bytes: try key(1).bytes)
    let count = try positions(in: group, of: reader, at: snapshot).count
    return LiveAnswer {
      $0.number("commit", reader.commit)
      $0.key("group", group.bytes)
      $0.number("count", count)
    }
  }

  func indexCount() throws(TreeRingError) -> LiveAnswer {
    let reader = try reader()
    return LiveAnswer {
      $0.number("commit", reader.commit)
      $0.number("count", reader.count)
    }
  }

  func indexSum() throws(TreeRingError) -> LiveAnswer {
    let reader = try reader()
    let sum = try reader.sum()
    return LiveAnswer {
      $0.number("commit", reader.commit)
      $0.number("count", reader.count)
      $0.sum(sum)
    }
  }

  func groupSum() throws(TreeRingError) -> LiveAnswer {
    let snapshot = try snapshot()
    let reader = try reader(at: snapshot)
    let group = GroupName(bytes: try key(1).bytes)
    let positions = try positions(in: group, of: reader, at: snapshot)
    let sum = try reader.sum(in: group, positions)
    return LiveAnswer {
      $0.number("commit", reader.commit)
      $0.key("group", group.bytes)
      $0.number("count", positions.count)
      $0.sum(sum)
    }
  }

  func groupRows() throws(TreeRingError) -> LiveAnswer {
    let snapshot = try snapshot()
    let reader = try reader(at: snapshot)
    let limit = try limit()
    let group = GroupName(bytes: try key(1).bytes)
    let count = try reader.count(in: group)
    guard count > 0 else {
      throw TreeRingError(.notFound, "There is no group \(group) in index \(reader.name).")
    }
    var window = try positions(in: group, of: reader, at: snapshot)
    if let text = try arguments.text("range") {
      let part = try RangeSpecification(text).options.positions(ofCount: window.count)
      window = window.lowerBound + part.lowerBound..<window.lowerBound + part.upperBound
    }
    let start = max(window.lowerBound, min(try arguments.integer("from") ?? 0, window.upperBound))
    let range = start..<max(start, window.upperBound)
    return try reading {
      try LiveAnswer { object in
        object.number("commit", reader.commit)
        object.key("group", group.bytes)
        object.number("count", count)
        var next: Int?
        try object.list("rows") { list in
          try reader.forEachRow(in: group, range) { index, row in
            if list.count >= limit || list.byteCount >= limits.pieceByteCount {
              next = index
              return false
            }
            list.object { $0.row(row, at: index) }
            return true
          }
        }
        if let next { object.number("next", next) } else { object.null("next") }
      }
    }
  }

  func rank() throws(TreeRingError) -> LiveAnswer {
    let reader = try reader()
    let group = GroupName(bytes: try key(1).bytes)
    let key = try key(2)
    var bucket = try arguments.text("bucket")
    if bucket == nil {
      let index = store.indexes.first { $0.name.utf8.elementsEqual(reader.name.utf8) }
      if index?.buckets.count == 1 { bucket = index?.buckets.first }
    }
    guard let bucket else {
      throw TreeRingError(.invalidInput, "The index covers several buckets. Give one as “bucket”.")
    }
    guard let index = try reader.index(of: RowID(bucket: bucket, key: key), in: group) else {
      throw TreeRingError(.notFound, "There is no row \(key) in group \(group).")
    }
    let count = try reader.count(in: group)
    return LiveAnswer {
      $0.number("commit", reader.commit)
      $0.number("index", index)
      $0.number("count", count)
    }
  }
}

extension AnswerMaker {
  // MARK: - Searches

  func find() throws(TreeRingError) -> LiveAnswer {
    let index = try arguments.text(0)
    let snapshot = try snapshot()
    try access.check(index: index, among: snapshot.indexes)
    try checkKind(of: index, isText: true, in: snapshot)
    let text = try snapshot.text(index)
    guard let words = try arguments.text("q") else {
      throw TreeRingError(.invalidInput, "The parameter “q” is missing: the words to find.")
    }
    let query = try TextQuery(words)
    let (hits, count) = try text.findCounting(query, limit: try limit())
    return try reading {
      try LiveAnswer { object in
        object.number("commit", snapshot.commit)
        object.number("count", count)
        try object.list("hits") { list in
          for hit in hits where list.byteCount < limits.pieceByteCount {
            let row = try text.row(of: hit)
            let matches = try text.matches(of: query, in: row)
            list.object { $0.hit(row, score: hit.score, matches) }
          }
        }
      }
    }
  }
}
