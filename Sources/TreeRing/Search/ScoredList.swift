// The documents that contain a phrase, found in advance: with their frequencies, as the score
// needs them, and their places, where a NEAR needs them.

internal import TreeRingLog

/// Documents with a phrase, in ascending order.
struct ScoredList {
  var documents: [TextDocument] = []
  var lengths: [UInt64] = []
  var frequencies: [UInt64] = []
  /// The places of the phrase's beginnings, and their end for each document; only if asked for.
  var places: [UInt64] = []
  var placeEnds: [Int] = []

  mutating func append(
    _ document: TextDocument, length: UInt64, frequency: UInt64, places: [UInt64], keeping: Bool
  ) {
    documents.append(document)
    lengths.append(length)
    frequencies.append(frequency)
    if keeping {
      self.places += places
      placeEnds.append(self.places.count)
    }
  }

  /// The position of a document, or of the first one after it; at least `start`.
  func position(of document: TextDocument, from start: Int) -> Int {
    var (low, step) = (start, 1)
    while low + step < documents.count, documents[low + step] < document {
      low += step
      step *= 2
    }
    return documents[low..<min(low + step + 1, documents.count)]
      .partitioningIndex { $0 >= document }
  }

  func places(at index: Int) -> ArraySlice<UInt64> {
    places[(index == 0 ? 0 : placeEnds[index - 1])..<placeEnds[index]]
  }
}

/// Finds phrases at one state. Used within one read section.
struct PhraseFinder {
  let text: TextIndex
  let order: Tree
  private var format: PostingFormat { text.format }

  init(text: TextIndex, order: Tree) {
    self.text = text
    self.order = order
  }

  /// The documents that contain a phrase. O(postings of its rarest term · log n).
  func find(_ phrase: TextPlan.Phrase, keepingPlaces: Bool = false) -> ScoredList {
    let last = phrase.parts.count - 1
    if phrase.isPrefix {
      let ending = union(of: phrase)
      return last == 0
        ? filtered(ending, phrase, keepingPlaces)
        : join(phrase, with: ending, keepingPlaces)
    }
    if last == 0 { return word(phrase, keepingPlaces) }
    return join(phrase, with: nil, keepingPlaces)
  }

  /// The documents of one word in some fields.
  private func word(_ phrase: TextPlan.Phrase, _ keepingPlaces: Bool) -> ScoredList {
    var list = ScoredList()
    let term = TermChunks(phrase.parts[0].term, in: order)
    var places: [UInt64] = []
    for chunk in term.chunks {
      var scanner = PostingScanner(chunk.bytes)
      while scanner.next() {
        places.removeAll(keepingCapacity: true)
        format.forEachPlace(in: scanner.occurrences, isSingle: scanner.isSingle) {
          places.append($0)
        }
        append(scanner.document, scanner.length, &places, phrase, keepingPlaces, to: &list)
      }
    }
    withExtendedLifetime(term) {}
    return list
  }

  /// Appends a document, if the phrase begins in one of its fields.
  private func append(
    _ document: TextDocument, _ length: UInt64, _ places: inout [UInt64],
    _ phrase: TextPlan.Phrase, _ keepingPlaces: Bool, to list: inout ScoredList
  ) {
    if phrase.fields != TextPlan.Phrase.all(of: text) {
      places.removeAll { phrase.fields >> UInt32(format.field(of: $0)) & 1 == 0 }
    }
    if places.isEmpty { return }
    let frequency = places.reduce(UInt64(0)) { $0 &+ format.weight(of: format.field(of: $1)) }
    list.append(
      document, length: length, frequency: frequency, places: places, keeping: keepingPlaces)
  }

  // MARK: - Prefixes

  /// The places of the terms that the last part of a phrase is the beginning of.
  private func union(of phrase: TextPlan.Phrase) -> ScoredList {
    guard let part = phrase.parts.last?.term else { return ScoredList() }
    var terms: [TermChunks] = []
    var present: [UInt8] = []
    var upper = part
    upper.append(0xFF)
    order.forEach(from: part, to: upper) { key, value in
      let term = TextKey.term(key)
      if terms.isEmpty || !term.elementsEqual(present) {
        present = Array(term)
        terms.append(TermChunks())
      }
      terms[terms.count - 1].add(key, value, first: term.count + 1)
      return true
    }
    if let stem = phrase.stem, !stem.starts(with: part) {
      terms.append(TermChunks(stem, in: order))
    }
    var found: [(document: TextDocument, length: UInt64, place: UInt64)] = []
    for term in terms {
      for chunk in term.chunks {
        var scanner = PostingScanner(chunk.bytes)
        while scanner.next() {
          let (document, length) = (scanner.document, scanner.length)
          format.forEachPlace(in: scanner.occurrences, isSingle: scanner.isSingle) {
            found.append((document, length, $0))
          }
        }
      }
      withExtendedLifetime(term) {}
    }
    if terms.count > 1 {
      found.sort {
        $0.document == $1.document
          ? format.order(of: $0.place) < format.order(of: $1.place) : $0.document < $1.document
      }
    }
    var list = ScoredList()
    var index = 0
    while index < found.count {
      let first = found[index]
      list.documents.append(first.document)
      list.lengths.append(first.length)
      list.frequencies.append(0)
      while index < found.count, found[index].document == first.document {
        list.places.append(found[index].place)
        index += 1
      }
      list.placeEnds.append(list.places.count)
    }
    return list
  }

  /// The documents of a list in which a phrase of one part begins in one of its fields.
  private func filtered(
    _ all: ScoredList, _ phrase: TextPlan.Phrase, _ keepingPlaces: Bool
  ) -> ScoredList {
    var list = ScoredList()
    for index in all.documents.indices {
      var places = Array(all.places(at: index))
      append(all.documents[index], all.lengths[index], &places, phrase, keepingPlaces, to: &list)
    }
    return list
  }

  // MARK: - Phrases

  /// The documents that contain several terms in their order. The rarest term leads.
  /// - Parameter ending: The places of the last part, if that is a prefix.
  private func join(
    _ phrase: TextPlan.Phrase, with ending: ScoredList?, _ keepingPlaces: Bool
  ) -> ScoredList {
    var list = ScoredList()
    let parts = ending == nil ? phrase.parts : phrase.parts.dropLast()
    let terms = parts.map { TermChunks($0.term, in: order) }
    if terms.contains(where: { $0.count == 0 }) { return list }
    let ranked = terms.indices.sorted { terms[$0].count < terms[$1].count }
    let offsets = ranked.map { parts[$0].offset }
    var cursors = ranked.map { terms[$0].makeCursor() }
    var endingIndex = 0
    var places = PlainArray<UInt64>()
    var others = PlainArray<UInt64>()
    cursors.withUnsafeMutableBufferPointer { cursors in
      while true {
        let document = Self.align(cursors)
        if document == .end { return }
        if let ending {
          endingIndex = ending.position(of: document, from: endingIndex)
          if endingIndex == ending.documents.count { return }
          if ending.documents[endingIndex] > document {
            cursors[0].seek(ending.documents[endingIndex])
            continue
          }
        }
        if mayBegin(cursors, offsets) {
          places.removeAll()
          for index in cursors.indices where index == 0 || places.count > 0 {
            let distance = format.distance(of: offsets[index])
            others.removeAll()
            cursors[index].forEachPlace(format) {
              if $0 >= distance { others.append($0 - distance) }
            }
            if index == 0 { swap(&places, &others) } else { format.intersect(&places, others) }
          }
          if let ending, let offset = phrase.parts.last?.offset, places.count > 0 {
            let distance = format.distance(of: offset)
            others.removeAll()
            for place in ending.places(at: endingIndex) where place >= distance {
              others.append(place - distance)
            }
            format.intersect(&places, others)
          }
          if places.count > 0 {
            var places = Array(places.elements)
            append(document, cursors[0].length, &places, phrase, keepingPlaces, to: &list)
          }
        }
        cursors[0].next()
      }
    }
    withExtendedLifetime(terms) {}
    return list
  }

  /// Moves all cursors to the next document that all have, the present one included.
  /// - Returns: That document; `end` if there is none.
  private static func align(_ cursors: UnsafeMutableBufferPointer<TermCursor>) -> TextDocument {
    if cursors.count == 1 { return cursors[0].document }
    while true {
      let document = TermCursor.meet(&cursors[0], &cursors[1])
      var found = document
      for index in 2..<cursors.count where found == document && document != .end {
        cursors[index].seek(document)
        found = cursors[index].document
      }
      if found == document || found == .end { return found }
      cursors[0].seek(found)
    }
  }

  /// False if the first two terms occur once each in the present document, and not at the distance
  /// that the phrase needs. This decides about most documents.
  @inline(__always)
  private func mayBegin(
    _ cursors: UnsafeMutableBufferPointer<TermCursor>, _ offsets: [Int]
  ) -> Bool {
    if cursors.count == 1 || !cursors[0].isSingle || !cursors[1].isSingle { return true }
    return cursors[0].singlePosition &+ UInt64(offsets[1])
      == cursors[1].singlePosition &+ UInt64(offsets[0])
  }
}

extension PostingFormat {
  /// The place as a number that orders places by field, then position.
  func order(of place: UInt64) -> UInt64 {
    UInt64(field(of: place)) << 40 | UInt64(position(of: place))
  }

  /// The difference of two places in a field that are so many positions apart.
  func distance(of positions: Int) -> UInt64 { UInt64(positions) << UInt64(fieldBits) }

  /// Removes the places that are not among others; both in order of field and position.
  func intersect(_ places: inout PlainArray<UInt64>, _ others: borrowing PlainArray<UInt64>) {
    var (index, kept) = (0, 0)
    for position in 0..<places.count {
      let place = places[position]
      while index < others.count, order(of: others[index]) < order(of: place) { index += 1 }
      if index < others.count, others[index] == place {
        places[kept] = place
        kept += 1
      }
    }
    places.removeAll(from: kept)
  }
}

extension TextDocument {
  /// The document that follows directly.
  var next: TextDocument {
    self == .end ? .end : TextDocument(commit: (bits &+ 1)._high, operation: (bits &+ 1)._low)
  }
}
