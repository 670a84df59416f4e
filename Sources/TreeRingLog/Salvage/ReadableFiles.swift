// The files of a damaged log, in the order in which salvage reads them. A file is identified by its
// header if that is sound, otherwise by its name. The store is that of most headers.

/// The files in a log's folder, grouped by first commit.
struct ReadableFiles {
  /// One file.
  struct Candidate {
    var path: String
    /// The name that its header states, otherwise its actual name.
    var name: SegmentName
    /// True if recovery mode `prefix` has set it aside.
    var isSetAside: Bool
    fileprivate var storeID: UInt64?
  }

  /// Files with the same first commit: the highest generation first, set-aside files last.
  struct Group {
    var first: CommitNumber
    var files: [Candidate]
  }

  private(set) var groups: [Group] = []
  /// The store's identifier; nil if no header is sound.
  private(set) var storeID: UInt64?
  /// The reasons for ignoring files, by path.
  private(set) var ignored: [String: String] = [:]
  /// Evidence that a file ignored for its name may be a segment, by path.
  private(set) var misnamed: [String: String] = [:]

  /// Lists the folder and reads the header of each file. O(files).
  init(directory: String, fileSystem: any FileSystem) throws(TreeRingError) {
    var candidates: [Candidate] = []
    for fileName in try fileSystem.list(directory).sorted() {
      let path = "\(directory)/\(fileName)"
      let isSetAside = fileName.hasSuffix(Format.ignoredSuffix)
      let plain =
        isSetAside
        ? fileName.dropLast(Format.ignoredSuffix.utf8.count) + Format.segmentSuffix : fileName[...]
      guard let name = SegmentName(fileName: String(plain)), name.firstCommit > 0 else {
        if fileName.hasSuffix(Format.temporarySuffix) {
          ignored[path] = "an unfinished segment"
        } else {
          ignored[path] = "not a segment's name"
          misnamed[path] = try Self.header(of: path, fileSystem).map { header in
            "Its name is not a segment's, but its content is that of \(header.name.fileName). "
              + "Give it that name if it belongs to the log, and salvage again."
          }
        }
        continue
      }
      var candidate = Candidate(path: path, name: name, isSetAside: isSetAside)
      if let header = try Self.header(of: path, fileSystem) {
        candidate.name = header.name
        candidate.storeID = header.storeID
      } else if name.firstCommit > SegmentHeader.largestCommit {
        ignored[path] = "no commit has the number in its name"
        misnamed[path] = "It has no sound header, so the commits it held are not known."
        continue
      }
      candidates.append(candidate)
    }
    let storeIDs = candidates.compactMap(\.storeID)
    storeID = Dictionary(storeIDs.map { ($0, 1) }, uniquingKeysWith: +).mostFrequent
    var groups: [CommitNumber: [Candidate]] = [:]
    for candidate in candidates {
      if let other = candidate.storeID, other != storeID {
        ignored[candidate.path] = "a segment of another store"
      } else {
        groups[candidate.name.firstCommit, default: []].append(candidate)
      }
    }
    self.groups = groups.sorted { $0.key < $1.key }.map { first, files in
      Group(
        first: first,
        files: files.sorted {
          ($0.isSetAside ? 1 : 0, .max - $0.name.generation, $0.path)
            < ($1.isSetAside ? 1 : 0, .max - $1.name.generation, $1.path)
        })
    }
  }

  /// The file's header; nil if it is not sound.
  private static func header(
    of path: String, _ fileSystem: any FileSystem
  ) throws(TreeRingError) -> SegmentHeader? {
    let file = ZeroFillingFile(try fileSystem.open(path, .readOnly))
    defer { file.close() }
    let reader = SegmentReader(
      file: file, end: try file.size(), chunk: Format.Segment.byteCount)
    defer { withExtendedLifetime(reader) {} }
    guard case .success(let (head, bytes)) = try reader.header(at: 0), head.kind == .segmentHeader,
      let header = SegmentHeader(bytes), header.isPlausible
    else { return nil }
    return header
  }
}
