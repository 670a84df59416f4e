// A declarative index as text: its canonical JSON, and the options that a user types.

public import TreeRingLog

extension FieldIndex {
  /// The definition as canonical JSON, the text that is stored. Equal definitions have equal texts.
  public var json: String {
    let order = Self.json(order.map(\.description))
    let (bucket, group) = (JSONScanner.quoted(bucket), JSONScanner.quoted(group))
    return "{\"bucket\":\(bucket),\"group\":\(group),\"order\":\(order),"
      + "\"where\":\(Self.json(conditions)),\"version\":\(version)\(Self.uniqueness(isUnique))"
      + "\(summation)}"
  }

  /// The members that state the summed field; empty without one.
  private var summation: String {
    guard let sum else { return "" }
    let decimals = sum.decimals == 0 ? "" : ",\"decimals\":\(sum.decimals)"
    return ",\"sum\":\(JSONScanner.quoted(sum.field))\(decimals)"
  }

  /// The member that states that an index is unique; empty if it is not.
  static func uniqueness(_ isUnique: Bool) -> String { isUnique ? ",\"unique\":true" : "" }

  /// Conditions as `{"FIELD":["V","V"]}`.
  static func json(_ conditions: [Condition]) -> String {
    let members = conditions.map { "\(JSONScanner.quoted($0.field)):\(json($0.values))" }
    return "{\(members.joined(separator: ","))}"
  }

  static func json(_ texts: [String]) -> String {
    "[\(texts.map { JSONScanner.quoted($0) }.joined(separator: ","))]"
  }

  /// Creates a definition from its JSON. Members may come in any order; `where`, `version`,
  /// `unique`, `sum` and `decimals` may be absent.
  ///
  /// Throws `invalidInput` if the text is not JSON, or a member is unknown, missing or malformed.
  public init(json: String) throws(TreeRingError) {
    self = try Array(json.utf8).withUnsafeBytes { (bytes) throws(TreeRingError) in
      try Self(json: bytes)
    }
  }

  /// Creates a definition from its JSON, as bytes.
  package init(json: UnsafeRawBufferPointer) throws(TreeRingError) {
    var reader = FieldDefinitionReader(scanner: JSONScanner(json))
    try reader.read(
      members: ["bucket", "group", "order", "where", "version", "unique", "sum", "decimals"])
    guard let bucket = reader.bucket, let group = reader.group else {
      throw TreeRingError(
        .invalidInput, "An index definition needs the members “bucket” and “group”")
    }
    try self.init(
      bucket: bucket, group: group, order: reader.order.map { Order(text: $0) },
      where: reader.conditions, version: reader.version)
    if reader.isUnique { self = unique() }
    if let field = reader.sum {
      self = try summing(field, decimals: Int(reader.decimals ?? 0))
    } else if reader.decimals != nil {
      throw TreeRingError(.invalidInput, "“decimals” are those of a “sum”, and there is none")
    }
  }

  /// Creates a definition from typed options: `order` as `FIELD[:desc][,…]`, each condition as
  /// `FIELD=V[,V…]`.
  ///
  /// Throws `invalidInput` with a sentence that states the expected form.
  public init(
    bucket: String, group: String, order: String, where conditions: [String], version: UInt32 = 1
  ) throws(TreeRingError) {
    var fields: [Order] = []
    for text in order.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      fields.append(Order(text: String(Substring(text))))
    }
    if fields.contains(where: \.field.isEmpty) {
      throw TreeRingError(
        .invalidInput, "The order “\(order)” has an empty field; write it FIELD[:desc][,…]")
    }
    let parsed = try Self.conditions(of: conditions)
    try self.init(bucket: bucket, group: group, order: fields, where: parsed, version: version)
  }

  /// Parses typed conditions, each `FIELD=V[,V…]`.
  /// - Throws: `invalidInput` for another form, such as a relation that is no equality.
  static func conditions(of texts: [String]) throws(TreeRingError) -> [Condition] {
    var parsed: [Condition] = []
    for text in texts {
      let condition = try FieldCondition(text)
      guard condition.relation == .equal else {
        throw TreeRingError(
          .invalidInput,
          "The condition “\(text)” is no equality; an index takes only FIELD=VALUE[,VALUE…]")
      }
      parsed.append(Condition(condition.field, in: condition.texts))
    }
    return parsed
  }
}

extension IndexRecord.Definition {
  /// The definition of an index by fields, unique or not.
  package init(_ fields: FieldIndex) {
    let definition = fields.sum == nil ? Self.fields(fields.json) : .summed(fields.json)
    self = fields.isUnique ? .unique(definition) : definition
  }
}

extension FieldIndex.Order: CustomStringConvertible {
  /// The field, followed by `:desc` if greater values come first.
  public var description: String { isDescending ? field + ":desc" : field }

  /// Creates an order from its text, `FIELD` or `FIELD:desc`.
  public init(text: String) {
    let isDescending = text.hasSuffix(":desc")
    self.init(isDescending ? String(text.dropLast(5)) : text, descending: isDescending)
  }
}

/// A position in a definition's JSON and the members read so far.
struct FieldDefinitionReader {
  var scanner: JSONScanner
  var parent: String?
  var bucket: String?
  var group: String?
  var order: [String] = []
  var text: [String] = []
  var stemmer: String?
  var tokenizer: UInt32 = TextTokenizer.version
  var conditions: [FieldIndex.Condition] = []
  var version: UInt32 = 1
  var isUnique = false
  var sum: String?
  var decimals: UInt32?
  var field: String?
  var target: String?
  var deletion = Reference.Deletion.restrict.rawValue
  var isRequired = false
  var dates: String?

  /// Reads the whole definition. Refuses other members than those given.
  mutating func read(members: Set<String>) throws(TreeRingError) {
    try scanner.enterObject()
    while let member = try scanner.nextMember() {
      let name = try text(member.name, of: "a name")
      guard members.contains(name) else {
        throw error("“\(name)” is not a member of a definition", at: member.name.lowerBound)
      }
      switch name {
      case "filters": parent = try text(member.value, of: name)
      case "bucket": bucket = try text(member.value, of: name)
      case "group": group = try text(member.value, of: name)
      case "order": order = try texts(member.value, of: name)
      case "where": try readConditions(member.value)
      case "version": version = try number(member.value, of: name)
      case "unique": isUnique = try truth(member.value, of: name)
      case "sum": sum = try text(member.value, of: name)
      case "decimals": decimals = try number(member.value, of: name)
      case "field": field = try text(member.value, of: name)
      case "to": target = try text(member.value, of: name)
      case "delete": deletion = try text(member.value, of: name)
      case "dates": dates = try text(member.value, of: name)
      case "required": isRequired = try truth(member.value, of: name)
      case "text": text = try texts(member.value, of: name)
      case "stemmer": stemmer = try text(member.value, of: name)
      case "tokenizer": tokenizer = try number(member.value, of: name)
      default: break
      }
    }
    try scanner.finish()
  }

  private func number(_ range: Range<Int>, of name: String) throws(TreeRingError) -> UInt32 {
    guard let number = UInt32(String(decoding: scanner.slice(range), as: UTF8.self)) else {
      throw error("“\(name)” must be a whole number", at: range.lowerBound)
    }
    return number
  }

  private func error(_ what: String, at offset: Int) -> TreeRingError {
    TreeRingError(
      .invalidInput, "The index definition is malformed: \(what)", offset: UInt64(offset))
  }

  private func text(_ range: Range<Int>, of name: String) throws(TreeRingError) -> String {
    guard scanner.bytes[range.lowerBound] == UInt8(ascii: "\"") else {
      throw error("“\(name)” must hold text", at: range.lowerBound)
    }
    var output: [UInt8] = []
    guard JSONScanner.appendString(scanner.slice(range), to: &output) else {
      throw error("“\(name)” \(JSONScanner.loneSurrogate)", at: range.lowerBound)
    }
    return String(decoding: output, as: UTF8.self)
  }

  private func truth(_ range: Range<Int>, of name: String) throws(TreeRingError) -> Bool {
    guard let value = Bool(String(decoding: scanner.slice(range), as: UTF8.self)) else {
      throw error("“\(name)” must be true or false", at: range.lowerBound)
    }
    return value
  }

  private func texts(_ range: Range<Int>, of name: String) throws(TreeRingError) -> [String] {
    var inner = JSONScanner(scanner.bytes, at: range.lowerBound)
    try inner.enterArray()
    var result: [String] = []
    while let element = try inner.nextElement() { result.append(try text(element, of: name)) }
    return result
  }

  private mutating func readConditions(_ range: Range<Int>) throws(TreeRingError) {
    var inner = JSONScanner(scanner.bytes, at: range.lowerBound)
    try inner.enterObject()
    while let member = try inner.nextMember() {
      let field = try text(member.name, of: "where")
      conditions.append(FieldIndex.Condition(field, in: try texts(member.value, of: field)))
    }
  }
}
