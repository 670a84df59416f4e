// An array for inner loops over plain values: no reference counts, and no check whether the memory
// is shared. Its owner keeps indexes in range.

internal import CTreeRing

/// Plain values side by side, in memory of its own.
struct PlainArray<Element: BitwiseCopyable>: ~Copyable {
  private var start: UnsafeMutablePointer<Element>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 64) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  init(repeating value: Element, count: Int) {
    self.init(capacity: count)
    start.initialize(repeating: value, count: count)
    self.count = count
  }

  deinit { start.deallocate() }

  var elements: UnsafeMutableBufferPointer<Element> {
    UnsafeMutableBufferPointer(start: start, count: count)
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(elements) }

  /// An element. The index is in range.
  subscript(index: Int) -> Element {
    @inline(__always) get { start[index] }
    @inline(__always) _modify { yield &start[index] }
  }

  /// Prefetches an element. The index is in range.
  @inline(__always)
  func prefetch(_ index: Int) { treering_prefetch(start + index) }

  /// O(1), amortized.
  @inline(__always)
  mutating func append(_ element: Element) {
    reserve(1)
    start[count] = element
    count &+= 1
  }

  @inline(__always)
  mutating func append(contentsOf others: UnsafeBufferPointer<Element>) {
    guard let first = others.baseAddress else { return }
    reserve(others.count)
    (start + count).update(from: first, count: others.count)
    count &+= others.count
  }

  /// Removes the elements from an index on. O(1).
  mutating func removeAll(from index: Int = 0) { count = index }

  /// Sets every element. O(n).
  mutating func fill(with value: Element) { start.update(repeating: value, count: count) }

  /// Makes room for further elements.
  @inline(__always)
  private mutating func reserve(_ added: Int) {
    if count &+ added > capacity { grow(by: added) }
  }

  @inline(never)
  private mutating func grow(by added: Int) {
    capacity = max(2 * capacity, count + added)
    let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    larger.update(from: start, count: count)
    start.deallocate()
    start = larger
  }
}

extension PlainArray where Element == UInt8 {
  @inline(__always)
  mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
    append(contentsOf: bytes.assumingMemoryBound(to: UInt8.self))
  }

  /// Appends the bytes of a value.
  @inline(__always)
  mutating func append(bytesOf value: some BitwiseCopyable) {
    withUnsafeBytes(of: value) { append(contentsOf: $0) }
  }

  /// Stores the bytes of a value at an offset, which need not be aligned.
  @inline(__always)
  mutating func store(_ value: some BitwiseCopyable, at offset: Int) {
    UnsafeMutableRawBufferPointer(elements).storeBytes(
      of: value, toByteOffset: offset, as: type(of: value))
  }

  /// Appends a LEB128 integer.
  @inline(__always)
  mutating func append(integer: UInt64) {
    reserve(LEB128.maxByteCount)
    let room = UnsafeMutableRawBufferPointer(start: start, count: capacity)
    count = LEB128.write(integer, to: room, at: count)
  }
}
