// The names of the simulated disk. A created, changed or removed name is on the device after a sync
// of its folder. Until then each change survives a crash or not, independently. Folders are names
// too.

struct SimulatedNames {
  private enum Change {
    case set(String, node: Int)
    case rename(from: String, to: String, node: Int)
    case remove(String)
    case makeDirectory(String)
    case removeDirectory(String)

    var path: String {
      switch self {
      case .set(let path, _), .rename(_, let path, _), .remove(let path), .makeDirectory(let path),
        .removeDirectory(let path):
        path
      }
    }
  }

  private struct Names {
    var files: [String: Int] = [:]
    var directories: Set<String> = [""]

    mutating func apply(_ change: Change) {
      switch change {
      case .set(let path, let node): files[path] = node
      case .rename(let from, let to, let node):
        files[from] = nil
        files[to] = node
      case .remove(let path): files[path] = nil
      case .makeDirectory(let path): directories.insert(path)
      case .removeDirectory(let path): directories.remove(path)
      }
    }
  }

  private var current = Names()
  private var synced = Names()
  private var changes: [(time: Int, change: Change)] = []

  init() {}

  /// The normal form of a path: "./a//b/" and "a/b" are one path.
  static func normal(_ path: String) -> String {
    // Compared as bytes: this runs at every call of the disk.
    let (bytes, slash) = (path.utf8, UInt8(ascii: "/"))
    let isPlain =
      bytes.last != slash && bytes.first != UInt8(ascii: ".")
      && !zip(bytes, bytes.dropFirst()).contains { $0 == slash && $1 == slash }
    if isPlain { return path }
    let parts = path.split(separator: "/").filter { $0 != "." }
    return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }

  static func parent(_ path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return String(path[..<slash])
  }

  var paths: [String] { current.files.keys.sorted() }
  /// The files that have a name.
  var nodes: Set<Int> { Set(current.files.values) }

  func node(_ path: String) -> Int? { current.files[Self.normal(path)] }

  func hasDirectory(_ path: String) -> Bool {
    let path = Self.normal(path)
    return path.isEmpty || path == "/" || current.directories.contains(path)
  }

  /// The names in a folder.
  func list(_ directory: String) -> [String] {
    let directory = Self.normal(directory)
    let all: [String] = Array(current.files.keys) + Array(current.directories)
    let inside = all.filter { $0 != directory && Self.parent($0) == directory }
    return inside.map { String($0.dropFirst(directory.isEmpty ? 0 : directory.count + 1)) }.sorted()
  }

  // MARK: Changing

  private mutating func change(_ change: Change, _ time: Int) {
    current.apply(change)
    changes.append((time, change))
  }

  mutating func set(_ path: String, node: Int, time: Int) {
    change(.set(Self.normal(path), node: node), time)
  }

  mutating func rename(_ path: String, to newPath: String, node: Int, time: Int) {
    change(.rename(from: Self.normal(path), to: Self.normal(newPath), node: node), time)
  }

  mutating func remove(_ path: String, time: Int) { change(.remove(Self.normal(path)), time) }

  mutating func makeDirectory(_ path: String, time: Int) {
    if !hasDirectory(path) { change(.makeDirectory(Self.normal(path)), time) }
  }

  mutating func removeDirectory(_ path: String, time: Int) {
    change(.removeDirectory(Self.normal(path)), time)
  }

  /// Makes the names in a folder durable.
  mutating func sync(_ directory: String) {
    let directory = Self.normal(directory)
    changes.removeAll { _, change in
      guard Self.parent(change.path) == directory else { return false }
      synced.apply(change)
      return true
    }
  }

  // MARK: After a crash

  /// The names after a crash. The contents of a lost folder are lost with it.
  func survivor(_ keeping: SurvivalRule, _ random: inout SeededGenerator) -> SimulatedNames {
    var names = synced
    for (time, change) in changes where keeping.keeps(time, &random) { names.apply(change) }
    for directory in names.directories.sorted(by: { $0.count < $1.count })
    where !names.directories.contains(Self.parent(directory)) {
      names.directories.remove(directory)
    }
    names.files = names.files.filter { names.directories.contains(Self.parent($0.key)) }
    var found = SimulatedNames()
    found.current = names
    found.synced = names
    return found
  }
}
