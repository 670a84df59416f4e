// The structures of a store's files that damage may hit: headers, contents, metas, pages, lists.

internal import TreeRing

/// One structure in a file of a store.
package struct StorePart: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    case segmentHeader, commit, mark, directory, content, rest, meta, treePage, listPage
    case emptySlot, other
  }
  package var file: String
  package var kind: Kind
  package var range: Range<Int>
  /// Its number fields: the offset of each in the file, and its width in bytes.
  package var fields: [(offset: Int, width: Int)] {
    Self.fields(of: kind).map { (range.lowerBound + $0.0, $0.1) }
      .filter { $0.0 + $0.1 <= range.upperBound }
  }

  package static func == (a: StorePart, b: StorePart) -> Bool {
    a.file == b.file && a.range == b.range
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(file)
    hasher.combine(range)
  }

  private static let head = [
    (0, 4), (4, 4), (8, 2), (10, 1), (11, 1), (12, 4), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8),
  ]

  private static func fields(of kind: Kind) -> [(Int, Int)] {
    switch kind {
    case .segmentHeader: head + [(48, 8), (56, 8), (64, 8), (72, 8), (80, 4), (84, 4)]
    case .commit:
      head + [(48, 8), (56, 8), (64, 8), (72, 8), (80, 4), (84, 4), (88, 4)]
        + [(92, 4), (96, 4), (100, 4), (104, 4), (108, 4), (112, 4), (116, 4), (120, 4)]
    case .mark: head + [(48, 8)]
    case .directory:
      head + [(48, 8), (56, 8), (64, 8), (72, 8), (80, 4), (84, 4)]
        + [(88, 8), (96, 8), (104, 8), (112, 8), (120, 8), (128, 8)]
    case .meta:
      [(0, 8), (8, 4), (16, 4), (20, 4)] + stride(from: 24, to: 88, by: 8).map { ($0, 8) }
        + [(88, 4), (92, 4), (96, 4), (100, 4), (104, 8), (112, 8), (120, 8), (128, 8), (136, 4)]
    case .treePage:
      [(4, 1), (5, 1), (6, 2), (8, 4), (12, 2), (14, 2), (16, 8), (24, 2), (26, 2), (28, 4)]
        + stride(from: 32, to: 160, by: 8).map { ($0, 4) }
        + stride(from: 36, to: 160, by: 8).flatMap { [($0, 2), ($0 + 2, 2)] }
        + stride(from: 40, to: 160, by: 8).map { ($0, 8) }
    case .listPage:
      [(4, 1), (8, 4), (12, 4), (16, 8), (24, 2), (26, 2), (28, 4), (32, 8)]
        + stride(from: 40, to: 104, by: 1).map { ($0, 1) }
    case .content: [(0, 4), (4, 1), (5, 1), (6, 1), (7, 4)] + (11..<40).map { ($0, 1) }
    case .rest, .emptySlot, .other: []
    }
  }

  /// The structures of a file.
  package static func parts(of file: String, _ bytes: [UInt8]) -> [StorePart] {
    if file == "pages" { return slots(of: file, bytes) }
    if file.hasPrefix("log/") || file.hasPrefix("next/") { return frames(of: file, bytes) }
    return [StorePart(file: file, kind: .other, range: 0..<bytes.count)]
  }

  private static func frames(of file: String, _ bytes: [UInt8]) -> [StorePart] {
    var parts: [StorePart] = []
    var index = 0
    func rest(_ end: Int, _ kind: Kind) {
      if end > index { parts.append(StorePart(file: file, kind: kind, range: index..<end)) }
      index = max(index, end)
    }
    while let start = ChecksumRepair.nextHeader(in: bytes, from: index) {
      rest(start, .content)
      let count = Int(ChecksumRepair.number(4, at: start + 4, in: bytes)) + 8
      let kinds: [UInt8: Kind] = [1: .segmentHeader, 2: .commit, 3: .mark, 4: .directory]
      guard start + count <= bytes.count, count >= 48 else { break }
      rest(start + count, kinds[bytes[start + 11]] ?? .other)
    }
    rest(bytes.count, parts.last?.kind == .commit ? .content : .rest)
    return parts
  }

  private static func slots(of file: String, _ bytes: [UInt8]) -> [StorePart] {
    let size = PageLayout.pageByteCount
    return (0..<bytes.count / size).map { slot in
      let range = slot * size..<(slot + 1) * size
      let kind: Kind
      if slot < PageFileLayout.firstPageSlot {
        kind = .meta
      } else if !bytes[range].contains(where: { $0 != 0 }) {
        kind = .emptySlot
      } else {
        let number = ChecksumRepair.number(
          2, at: range.lowerBound + PageLayout.kindOffset, in: bytes)
        kind = number == 0 ? .treePage : .listPage
      }
      return StorePart(file: file, kind: kind, range: range)
    }
  }
}
