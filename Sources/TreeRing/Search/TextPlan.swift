// A search, prepared for one index: its phrases as terms, its fields as numbers.

internal import TreeRingLog

/// A search of one index.
struct TextPlan {
  /// Consecutive terms.
  struct Phrase: Hashable {
    /// A term and its distance from the first one, in positions.
    struct Part: Hashable {
      var term: [UInt8]
      var offset: Int
    }

    var parts: [Part]
    /// Whether the last term is the beginning of one.
    var isPrefix = false
    /// The stem of a last term that is a beginning; nil if it is the same.
    var stem: [UInt8]?
    /// The fields that are searched, one bit for each.
    var fields: UInt32

    /// Whether it is a word in any field, so that its postings need no positions.
    func isPlain(in text: TextIndex) -> Bool {
      parts.count == 1 && !isPrefix && fields == Self.all(of: text)
    }

    static func all(of text: TextIndex) -> UInt32 { 1 << UInt32(text.fields.count) - 1 }

    /// Whether a term of a document fits a part.
    func fits(_ part: Int, _ term: UnsafeRawBufferPointer) -> Bool {
      let wanted = parts[part].term
      if isPrefix, part == parts.count - 1 {
        return term.starts(with: wanted) || stem.map { term.elementsEqual($0) } ?? false
      }
      return term.elementsEqual(wanted)
    }
  }

  indirect enum Node {
    /// The phrase of a number.
    case phrase(Int)
    case and([Node])
    case or([Node])
    case not(Node, Node)
    /// The phrases of these numbers, and the greatest number of words between.
    case near([Int], Int)
  }

  let text: TextIndex
  private(set) var phrases: [Phrase] = []
  /// The condition; nil if it has no words, so that it matches nothing.
  private(set) var root: Node?

  /// Prepares a search.
  /// - Throws: `invalidInput` if it names a field that the index does not have.
  init(_ query: TextQuery, of text: TextIndex) throws(TreeRingError) {
    self.text = text
    root = try node(query, fields: Phrase.all(of: text))
  }

  /// The node of a condition; nil if it has no words.
  private mutating func node(
    _ query: TextQuery, fields: UInt32
  ) throws(TreeRingError) -> Node? {
    switch query {
    case .phrase(let words): return add(phrase(words, fields)).map { .phrase($0) }
    case .prefix(let words):
      return add(phrase(words, fields, isPrefix: true)).map { .phrase($0) }
    case .and(let parts):
      let nodes = try nodes(parts, fields)
      return nodes.count > 1 ? .and(nodes) : nodes.first
    case .or(let parts):
      let nodes = try nodes(parts, fields)
      return nodes.count > 1 ? .or(nodes) : nodes.first
    case .not(let wanted, let unwanted):
      guard let wanted = try node(wanted, fields: fields) else { return nil }
      guard let unwanted = try node(unwanted, fields: fields) else { return wanted }
      return .not(wanted, unwanted)
    case .near(let words, let distance):
      let numbers = words.compactMap { add(phrase($0, fields)) }
      if numbers.count == 1 { return .phrase(numbers[0]) }
      if numbers.isEmpty { return nil }
      return .near(numbers, min(max(distance, 0), PostingFormat.lastPosition))
    case .field(let name, let query):
      guard let number = text.slots.firstIndex(where: { $0.name.isSameName(as: name) }) else {
        let known = text.fields.map(\.name).joined(separator: ", ")
        throw TreeRingError(
          .invalidInput,
          "The text index \(text.name) has no field \(name), only \(known). Put a word with a "
            + "colon in quotes.")
      }
      return try node(query, fields: fields & 1 << UInt32(number))
    }
  }

  private mutating func nodes(
    _ queries: [TextQuery], _ fields: UInt32
  ) throws(TreeRingError) -> [Node] {
    var nodes: [Node] = []
    for query in queries {
      if let node = try node(query, fields: fields) { nodes.append(node) }
    }
    return nodes
  }

  private mutating func add(_ phrase: Phrase) -> Int? {
    if phrase.parts.isEmpty { return nil }
    phrases.append(phrase)
    return phrases.count - 1
  }

  private func phrase(_ words: String, _ fields: UInt32, isPrefix: Bool = false) -> Phrase {
    var phrase = Phrase(parts: [], isPrefix: isPrefix, fields: fields)
    for token in text.tokenizer.tokens(of: words) {
      phrase.parts.append(Phrase.Part(term: token.term, offset: token.position))
    }
    guard isPrefix, text.stemmer != nil, let last = phrase.parts.last else { return phrase }
    let whole = TextTokenizer().tokens(of: words)
    phrase.stem = last.term
    phrase.parts[phrase.parts.count - 1].term = whole.last?.term ?? last.term
    return phrase
  }

  /// The phrases whose occurrences make a row a hit: those that no `NOT` excludes.
  var wanted: [Int] {
    func phrases(_ node: Node) -> [Int] {
      switch node {
      case .phrase(let number): [number]
      case .and(let nodes), .or(let nodes): nodes.flatMap(phrases)
      case .not(let node, _): phrases(node)
      case .near(let numbers, _): numbers
      }
    }
    return root.map(phrases) ?? []
  }
}

extension TextTokenizer {
  /// A term of a text, copied.
  struct Term {
    var term: [UInt8]
    var position: Int
    var range: Range<Int>
  }

  /// The terms of a text. O(bytes).
  func tokens(of text: String) -> [Term] {
    var text = text
    return text.withUTF8 { tokens(of: UnsafeRawBufferPointer($0)) }
  }

  /// The terms of a text. O(bytes).
  func tokens(of text: UnsafeRawBufferPointer, from first: Int = 0) -> [Term] {
    var terms: [Term] = []
    _ = forEach(in: text, from: first) { token in
      terms.append(Term(term: Array(token.term), position: token.position, range: token.range))
    }
    return terms
  }
}
