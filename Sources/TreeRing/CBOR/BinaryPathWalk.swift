// The way to an item of a binary row: the keys and positions that lead to it.
//
// The way is found from the item's offset, by a walk from the beginning over all that lies before
// the item. A type that tries one form after another, or skips elements that it cannot read, causes
// an error for each. So the walk keeps its last way, and goes on from the deepest element of it
// that contains the new item or lies before it.

/// A key of an error's path.
struct BinaryPathKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = ("Index \(intValue)", intValue) }

  static var superKey: BinaryPathKey { BinaryPathKey(stringValue: "super") }
}

/// A walk over a row, and the way to the item found last.
struct BinaryPathWalk {
  /// An element of an array, or a field of a map.
  private struct Step {
    /// The number of elements in the array or map.
    var count: Int
    var isMap: Bool
    /// The offset behind the head of the array or map.
    var first: Int
    /// The element's position.
    var index = 0
    /// The range of the field's key; empty in an array.
    var key = 0..<0
    /// The range of the element. A malformed one ends nowhere.
    var range = 0..<0

    func pathKey(in bytes: UnsafeRawBufferPointer) -> BinaryPathKey {
      isMap
        ? BinaryPathKey(stringValue: String(decoding: bytes[key], as: UTF8.self))
        : BinaryPathKey(intValue: index)
    }
  }

  private var steps: [Step] = []

  /// The keys and positions on the way to the item at an offset. All calls with ascending offsets
  /// cost O(bytes · depth) together. A call with a lesser offset begins at the head of the map or
  /// array that contains both items.
  mutating func path(to offset: Int, in reader: CBORReader) -> [any CodingKey] {
    // The part of the last way that leads to the item too, and the step beside it.
    let common = steps.firstIndex { !$0.range.contains(offset) } ?? steps.count
    if common < steps.count {
      var beside = steps[common]
      steps.removeLast(steps.count - common)
      if offset < beside.range.lowerBound {
        (beside.index, beside.range) = (0, beside.first..<beside.first)
      } else {
        beside.index += 1
      }
      guard advance(&beside, to: offset, in: reader) else { return keys(reader) }
      steps.append(beside)
    }
    while let head = reader.head(at: steps.last?.range.lowerBound ?? CBOR.mark.count),
      head.end <= offset, let count = reader.itemCount(of: head),
      head.kind == CBOR.Kind.map || head.kind == CBOR.Kind.array
    {
      var step = Step(count: count, isMap: head.kind == CBOR.Kind.map, first: head.end)
      step.range = head.end..<head.end
      guard advance(&step, to: offset, in: reader) else { break }
      steps.append(step)
    }
    return keys(reader)
  }

  private func keys(_ reader: CBORReader) -> [any CodingKey] {
    steps.map { $0.pathKey(in: reader.bytes) }
  }

  /// Moves to the element that contains an offset, from the element that begins at the end of the
  /// step's range. Returns false if there is none.
  private func advance(_ step: inout Step, to offset: Int, in reader: CBORReader) -> Bool {
    while step.index < step.count {
      var start = step.range.upperBound
      if step.isMap {
        guard let name = reader.head(at: start), let text = reader.contents(of: name) else {
          return false
        }
        (step.key, start) = (text, text.upperBound)
      }
      if start > offset { return false }
      let end = reader.skip(start)
      step.range = start..<(end < 0 ? Int.max : end)
      if offset < step.range.upperBound { return true }
      step.index += 1
    }
    return false
  }
}
