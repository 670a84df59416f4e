// Collects the terms of documents. A term gets a number at its first occurrence; its occurrences in
// the present document form a chain. A document costs no allocation once the arrays have grown.
//
// The tables of many terms are in no near cache. So occurrences wait until there are some dozens of
// them: their slots are prefetched on arrival, then their terms, and then each finds its term.

internal import TreeRingLog
internal import TreeRingPlatform

/// The terms of documents and their occurrences in the present one. One thread at a time uses it.
final class TermCollector {
  private struct Term {
    /// The first eight bytes.
    var head: UInt64
    var start: UInt32
    var count: UInt32
    var hash: UInt32
    /// The number of the document that the chain belongs to.
    var document: UInt32 = 0
    var first: UInt32 = 0
    var last: UInt32 = 0
  }

  /// An occurrence whose term has no number yet.
  private struct Waiting {
    var head: UInt64
    var place: UInt64
    /// The offset of the term among the bytes of those that are longer than their heads.
    var start: UInt32
    var count: UInt32
    var hash: UInt32
  }
  private static let waitingLimit = 64

  /// The numbers of terms plus one by their hashes; 0 where there is none.
  @exclusivity(unchecked) private var slots = PlainArray<UInt32>(repeating: 0, count: 256)
  @exclusivity(unchecked) private var terms = PlainArray<Term>()
  @exclusivity(unchecked) private var bytes = PlainArray<UInt8>()
  /// The places of the present document's occurrences, and the next one of the same term; 0 ends a
  /// chain.
  @exclusivity(unchecked) private var occurrences = PlainArray<(place: UInt64, next: UInt32)>(
    repeating: (0, 0), count: 1)
  /// The terms of the present document in the order of their first occurrences.
  @exclusivity(unchecked) private var present = PlainArray<UInt32>()
  @exclusivity(unchecked) private var document: UInt32 = 0
  @exclusivity(unchecked) private var places = PlainArray<UInt64>()
  @exclusivity(unchecked) private var waiting = PlainArray<Waiting>(
    capacity: TermCollector.waitingLimit)
  @exclusivity(unchecked) private var waitingBytes = PlainArray<UInt8>()

  /// The number of terms, except new ones of the present document before `forEachPresent`.
  var count: Int { terms.count }
  /// The number of bytes that these terms take.
  var byteCount: Int { bytes.count + terms.count * MemoryLayout<Term>.stride }
  /// The number of occurrences in the present document.
  var length: Int { occurrences.count - 1 + waiting.count }

  /// Begins the next document.
  func beginDocument() {
    document &+= 1
    present.removeAll()
    occurrences.removeAll(from: 1)
    waiting.removeAll()
    waitingBytes.removeAll()
  }

  /// Forgets all terms.
  func removeAll() {
    terms.removeAll()
    bytes.removeAll()
    slots.fill(with: 0)
    document = 0
    beginDocument()
  }

  /// Adds an occurrence to the present document. The places of a document ascend.
  func add(_ term: UnsafeRawBufferPointer, place: UInt64) {
    let head = Self.head(term)
    let hash = Self.hash(term, head: head)
    slots.prefetch(Int(hash) & (slots.count - 1))
    let start = UInt32(waitingBytes.count)
    if term.count > Self.headByteCount { waitingBytes.append(contentsOf: term) }
    waiting.append(
      Waiting(head: head, place: place, start: start, count: UInt32(term.count), hash: hash))
    if waiting.count == Self.waitingLimit { addWaiting() }
  }

  /// Adds the waiting occurrences to the chains of their terms.
  private func addWaiting() {
    let mask = slots.count - 1
    for next in waiting.elements {
      let number = slots[Int(next.hash) & mask]
      if number != 0 { terms.prefetch(Int(number) - 1) }
    }
    for next in waiting.elements {
      let number = number(of: next)
      let occurrence = UInt32(occurrences.count)
      occurrences.append((next.place, 0))
      if terms[number].document == document {
        occurrences[Int(terms[number].last)].next = occurrence
      } else {
        terms[number].document = document
        terms[number].first = occurrence
        present.append(UInt32(number))
      }
      terms[number].last = occurrence
    }
    waiting.removeAll()
    waitingBytes.removeAll()
  }

  /// Calls `body` with the number and the places of each term of the present document.
  @inline(__always)
  func forEachPresent(_ body: (_ number: Int, _ places: UnsafeBufferPointer<UInt64>) -> Void) {
    addWaiting()
    for number in present.elements {
      places.removeAll()
      var next = terms[Int(number)].first
      while next != 0 {
        let occurrence = occurrences[Int(next)]
        places.append(occurrence.place)
        next = occurrence.next
      }
      body(Int(number), UnsafeBufferPointer(places.elements))
    }
  }

  /// The bytes of a term, valid until the next one is added.
  @inline(__always)
  func term(_ number: Int) -> UnsafeRawBufferPointer {
    let term = terms[number]
    return UnsafeRawBufferPointer(
      rebasing: bytes.bytes[Int(term.start)..<Int(term.start + term.count)])
  }

  // MARK: - Numbers of terms

  @inline(__always)
  private func number(of next: Waiting) -> Int {
    let mask = slots.count - 1
    var slot = Int(next.hash) & mask
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if terms[number].head == next.head, terms[number].count == next.count,
        next.count <= Self.headByteCount || isEqual(number, next)
      {
        return number
      }
      slot = (slot + 1) & mask
    }
    return addTerm(next, slot: slot)
  }

  @inline(never)
  private func addTerm(_ next: Waiting, slot: Int) -> Int {
    terms.append(
      Term(head: next.head, start: UInt32(bytes.count), count: next.count, hash: next.hash))
    withUnsafeBytes(of: next.head.littleEndian) { head in
      bytes.append(
        contentsOf: next.count <= Self.headByteCount
          ? UnsafeRawBufferPointer(rebasing: head[..<Int(next.count)]) : longTerm(next))
    }
    slots[slot] = UInt32(terms.count)
    if terms.count * 2 > slots.count { grow() }
    return terms.count - 1
  }

  /// The bytes of a waiting term that is longer than its head.
  private func longTerm(_ next: Waiting) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      rebasing: waitingBytes.bytes[Int(next.start)..<Int(next.start + next.count)])
  }

  private func isEqual(_ number: Int, _ next: Waiting) -> Bool {
    memcmp(term(number).start, longTerm(next).start, Int(next.count)) == 0
  }

  private func grow() {
    slots = PlainArray(repeating: 0, count: slots.count * 4)
    let mask = slots.count - 1
    for number in 0..<terms.count {
      var slot = Int(terms[number].hash) & mask
      while slots[slot] != 0 { slot = (slot + 1) & mask }
      slots[slot] = UInt32(number + 1)
    }
  }

  /// A hash of a term. It decides about speed alone, never about a result.
  @inline(__always)
  private static func hash(_ term: UnsafeRawBufferPointer, head: UInt64) -> UInt32 {
    var hash = UInt64(term.count) &* 0x9E37_79B9_7F4A_7C15
    func mix(_ value: UInt64) {
      let product = (hash ^ value).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
      hash = product.high ^ product.low
    }
    mix(head)
    var at = headByteCount
    while at < term.count {
      // The last word may overlap the one before.
      at = min(at, term.count &- headByteCount)
      mix(term.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at &+= headByteCount
    }
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }

  private static let headByteCount = 8

  /// The first eight bytes of a term as a number, with zeros behind its end.
  @inline(__always)
  private static func head(_ term: UnsafeRawBufferPointer) -> UInt64 {
    if term.count >= headByteCount {
      return UInt64(littleEndian: term.loadUnaligned(as: UInt64.self))
    }
    if term.count >= 4 {
      // Two loads that overlap.
      let rest = term.count &- 4
      let (low, high) = (
        UInt32(littleEndian: term.loadUnaligned(as: UInt32.self)),
        UInt32(littleEndian: term.loadUnaligned(fromByteOffset: rest, as: UInt32.self))
      )
      return UInt64(low) | UInt64(high) << UInt64(8 &* rest)
    }
    var head: UInt64 = 0
    for index in 0..<term.count { head |= UInt64(term[index]) << UInt64(8 &* index) }
    return head
  }
}
