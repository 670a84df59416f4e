// Collects the terms of documents. A term gets a number at its first occurrence; its occurrences in
// the present document form a chain. A document costs no allocation once the arrays have grown.

internal import TreeRingLog
internal import TreeRingPlatform

/// The terms of documents and their occurrences in the present one. One thread at a time uses it.
final class TermCollector {
  private struct Term {
    var start: UInt32
    var count: UInt32
    var hash: UInt32
    /// The number of the document that the chain belongs to.
    var document: UInt32 = 0
    var first: UInt32 = 0
    var last: UInt32 = 0
  }

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

  /// The number of terms.
  var count: Int { terms.count }
  /// The number of bytes that the terms take.
  var byteCount: Int { bytes.count + terms.count * 28 }
  /// The number of occurrences in the present document.
  var length: Int { occurrences.count - 1 }

  /// Begins the next document.
  func beginDocument() {
    document &+= 1
    present.removeAll()
    occurrences.removeAll(from: 1)
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
    let number = number(of: term)
    let occurrence = UInt32(occurrences.count)
    occurrences.append((place, 0))
    if terms[number].document == document {
      occurrences[Int(terms[number].last)].next = occurrence
    } else {
      terms[number].document = document
      terms[number].first = occurrence
      present.append(UInt32(number))
    }
    terms[number].last = occurrence
  }

  /// Calls `body` with the number and the places of each term of the present document.
  @inline(__always)
  func forEachPresent(_ body: (_ number: Int, _ places: UnsafeBufferPointer<UInt64>) -> Void) {
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
  private func number(of term: UnsafeRawBufferPointer) -> Int {
    let hash = Self.hash(term)
    let mask = slots.count - 1
    var slot = Int(hash) & mask
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if terms[number].hash == hash, isEqual(number, term) { return number }
      slot = (slot + 1) & mask
    }
    terms.append(
      Term(start: UInt32(bytes.count), count: UInt32(term.count), hash: hash))
    bytes.append(contentsOf: term)
    slots[slot] = UInt32(terms.count)
    if terms.count * 2 > slots.count { grow() }
    return terms.count - 1
  }

  @inline(__always)
  private func isEqual(_ number: Int, _ term: UnsafeRawBufferPointer) -> Bool {
    let known = self.term(number)
    guard known.count == term.count, let a = known.baseAddress, let b = term.baseAddress else {
      return known.count == term.count
    }
    return memcmp(a, b, term.count) == 0
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
  private static func hash(_ term: UnsafeRawBufferPointer) -> UInt32 {
    var hash = UInt64(term.count) &* 0x9E37_79B9_7F4A_7C15
    func mix(_ value: UInt64) {
      let product = (hash ^ value).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
      hash = product.high ^ product.low
    }
    var at = 0
    while at &+ 8 <= term.count {
      mix(term.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at &+= 8
    }
    var rest: UInt64 = 0
    while at < term.count {
      rest = rest << 8 | UInt64(term[at])
      at &+= 1
    }
    mix(rest)
    return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
  }
}
