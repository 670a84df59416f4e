// The words of rows in text indexes. The words before a change are those of the old record, so a
// text index does not store them by row.

internal import TreeRingLog

extension StateEditor {
  /// The change of a row's words in one text index.
  struct TextEdit {
    /// The number of the index.
    var index: UInt32
    var format: PostingFormat
    var old: DocumentPostings?
    var new: DocumentPostings?
  }

  /// Determines the words of a row before and after a change; nil if they stay.
  func textEdit(
    _ text: TextIndex, _ index: UInt32, from old: RowRecord?, to new: RowRecord?,
    in reference: BucketReference, key: UnsafeRawBufferPointer
  ) throws(TreeRingError) -> TextEdit? {
    if let old, let new, old.created == new.created,
      old.object.byteCount == new.object.byteCount, old.object.digest == new.object.digest
    {
      return nil
    }
    let collector = self.words ?? TermCollector()
    self.words = collector
    collector.removeAll()
    func words(of record: RowRecord?) throws(TreeRingError) -> DocumentPostings? {
      guard let record else { return nil }
      return try text.postings(of: record, values, reference.number, key, collector)
    }
    let edit = TextEdit(
      index: index, format: text.format, old: try words(of: old), new: try words(of: new))
    return edit.old?.indexed == nil && edit.new?.indexed == nil ? nil : edit
  }

  /// Applies the edits that `textEdit` returned.
  func commit(_ edits: [TextEdit], bucket: UInt32, key: UnsafeRawBufferPointer) {
    for edit in edits {
      guard var index = roots.index(edit.index) else { continue }
      TextEditor(editor: editor, format: edit.format).replace(
        &index, old: edit.old, new: edit.new, bucket: bucket, key: key)
      roots.indexes.set(index)
    }
  }
}

extension TextIndex {
  /// The words of a row, whose object is inline or in the log.
  func postings(
    of record: RowRecord, _ values: ValueSource, _ bucket: UInt32, _ key: UnsafeRawBufferPointer,
    _ collector: TermCollector
  ) throws(TreeRingError) -> DocumentPostings {
    try values.withInput(of: record, bucket: bucket, key: key, readsMetadata: false) { input in
      collect(input.object, into: collector)
      return DocumentPostings(collector, of: TextDocument(record.created), format)
    }
  }

  /// The error of a read that needs groups.
  static func noGroups(_ name: String) -> TreeRingError {
    TreeRingError(
      .invalidInput,
      "The index \(name) is a text index, which has no groups. Read it by `text(_:)`, or by "
        + "`treering find`.")
  }
}
