// The check of a page file on disk, page by page: every page of every root can be fetched, and
// every number is either free or in use for exactly one thing.

package import TreeRingLog

/// Finds every flaw of a page file and changes nothing. O(pages).
///
/// A file without a meta never completed a checkpoint. It counts as sound, because the next opening
/// replaces it.
///
/// - Parameter progress: Called before each page with the number of bytes checked, this page
///   included.
package func verifyPageFile(
  _ path: String, fileSystem: any FileSystem,
  progress: @escaping (_ byteCount: UInt64) -> Void = { _ in }
) throws(TreeRingError) -> [StoreFinding] {
  guard try fileSystem.exists(path) else { return [] }
  var check: PageFileCheck
  do throws(TreeRingError) {
    let file = try PageFile.open(path, fileSystem: fileSystem, mode: .readOnly)
    defer { file.close() }
    let (metas, flaws) = try file.metas()
    check = PageFileCheck(file: file, progress: progress)
    for flaw in flaws { check.report(flaw) }
    if let meta = metas.first { check.run(meta) }
    if let failure = check.failure { throw failure }
  } catch  where [.corruption, .unsupportedFormat, .notAStore].contains(error.code) {
    return [StoreFinding(file: path, offset: error.offset ?? 0, problem: error.message)]
  }
  return check.findings
}

private struct PageFileCheck {
  let file: PageFile
  let progress: (UInt64) -> Void
  var findings: [StoreFinding] = []
  /// The error that prevented the check, if any.
  private(set) var failure: TreeRingError?
  var used: Set<PageNumber> = []

  mutating func report(_ problem: String, at offset: UInt64 = 0) {
    if findings.count < 100 {
      findings.append(StoreFinding(file: file.path, offset: offset, problem: problem))
    }
  }

  private mutating func report(_ error: TreeRingError) {
    if error.isFinding {
      report(error.message, at: error.offset ?? 0)
    } else {
      failure = failure ?? error
    }
  }

  mutating func run(_ meta: Meta) {
    do throws(TreeRingError) {
      let roots = try RetainedRoot.decode(
        try file.readBlob(meta.roots), below: min(try file.pageBound(), meta.pageBound))
      let free = BitSet(
        words: try FreeMap.decode(try file.readBlob(meta.free), below: meta.pageBound))
      for blob in [meta.roots, meta.free] + roots.flatMap(\.deadLists) { use(blob) }
      for root in roots {
        for tree in root.roots.trees where tree.page != 0 {
          visit(ChildReference(page: tree.page, birth: tree.birth, count: tree.count), level: nil)
        }
      }
      for number in used where free.contains(Int(number)) {
        report("page \(number) is in use and free", at: PageFileLayout.offset(of: number))
      }
      let usedCount = Int(meta.pageBound) - 1 - free.count
      if findings.isEmpty, usedCount != used.count {
        report("\(usedCount) pages are not free, but \(used.count) are in use")
      }
    } catch { report(error) }
  }

  private mutating func use(_ blob: BlobReference) {
    do throws(TreeRingError) {
      for number in try file.pages(of: blob) where !used.insert(number).inserted {
        report("page \(number) is part of two lists", at: PageFileLayout.offset(of: number))
      }
    } catch { report(error) }
  }

  /// Checks a page and those below it, each only once, since roots share pages.
  /// - Parameter level: The level that the page above requires; nil for a root.
  private mutating func visit(_ reference: ChildReference, level: Int?) {
    let number = reference.page
    if failure != nil || !used.insert(number).inserted { return }
    progress(UInt64(used.count) * UInt64(PageLayout.pageByteCount))
    do throws(TreeRingError) {
      let page = Page(bytes: try file.fetch(number, birth: reference.birth))
      // The level check ends the descent even if references form a circle.
      if let level, page.level != level {
        throw file.damaged("page \(number) is at level \(page.level), not \(level)", page: number)
      }
      if page.entryCount != reference.count {
        throw file.damaged(
          "page \(number) has \(page.entryCount) entries, its entry states \(reference.count)",
          page: number)
      }
      if page.level == 0 { return }
      for index in 0..<page.cellCount { visit(page.child(at: index), level: page.level - 1) }
    } catch { report(error) }
  }
}
