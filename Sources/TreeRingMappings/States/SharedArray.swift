// A persistent array: a changed copy shares nearly everything with the original. So a change of one
// group costs about the same in a state of many groups as in one of few.

/// An array in runs of runs. Changing one element of a copy costs O(run length), plus one reference
/// per thousand elements. Reading one costs O(1).
struct SharedArray<Element: Sendable>: RandomAccessCollection, MutableCollection, Sendable {
  private static var bits: Int { 5 }
  private static var mask: Int { (1 << bits) - 1 }

  /// Runs of runs of 32 elements, all full except the last ones.
  private(set) var runs: [[[Element]]]
  let count: Int

  /// An array that shares nothing yet. O(n).
  init(_ elements: [Element]) {
    count = elements.count
    let width = Self.mask + 1
    let inner = stride(from: 0, to: elements.count, by: width).map {
      Array(elements[$0..<Swift.min($0 + width, elements.count)])
    }
    runs = stride(from: 0, to: inner.count, by: width).map {
      Array(inner[$0..<Swift.min($0 + width, inner.count)])
    }
  }

  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(index: Int) -> Element {
    get { runs[index >> (2 * Self.bits)][(index >> Self.bits) & Self.mask][index & Self.mask] }
    set {
      runs[index >> (2 * Self.bits)][(index >> Self.bits) & Self.mask][index & Self.mask] = newValue
    }
  }
}
