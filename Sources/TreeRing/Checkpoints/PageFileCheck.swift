// Checks a page file against itself, page by page, as it lies on disk: every page of every root can be
// fetched, and every number is either free or in use for exactly one thing.

package import TreeRingLog

/// Everything that is wrong with a page file; nothing is changed. O(pages).
///
/// A file without a meta is one that was never finished: it counts as sound, since an opening makes a
/// new one.
///
/// - Parameter progress: called before each page with the bytes of those looked at, this one included.
package func verifyPageFile(
  _ path: String, fileSystem: any FileSystem,
  progress: @escaping (_ byteCount: UInt64) -> Void = { _ in }
) throws(TreeRingError) -> [LogFinding] {
  guard try fileSystem.exists(path) else { return [] }
  var check: PageFileCheck
  do throws(TreeRingError) {
    let file = try PageFile.open(path, fileSystem: fileSystem, mode: .readOnly)
    defer { file.close() }
    let (metas, flaws) = try file.metas()
    check = PageFileCheck(file: file, progress: progress)
    for flaw in flaws { check.report(flaw) }
    if let meta = metas.first { check.run(meta) }
  } catch  where error.code == .corruption || error.code == .unsupportedFormat {
    return [LogFinding(file: path, offset: error.offset ?? 0, problem: error.message)]
  }
  return check.findings
}

private struct PageFileCheck {
  let file: PageFile
  var findings: [LogFinding] = []
  private var used: Set<PageNumber> = []

  private let progress: (UInt64) -> Void

  init(file: PageFile, progress: @escaping (UInt64) -> Void) {
    self.file = file
    self.progress = progress
  }

  mutating func report(_ problem: String, at offset: UInt64 = 0) {
    if findings.count < 100 {
      findings.append(LogFinding(file: file.path, offset: offset, problem: problem))
    }
  }

  mutating func run(_ meta: Meta) {
    do throws(TreeRingError) {
      let roots = try RetainedRoot.decode(try file.readBlob(meta.roots))
      let free = BitSet(
        words: try FreeMap.decode(try file.readBlob(meta.free), below: meta.pageBound))
      for blob in [meta.roots, meta.free] + roots.flatMap(\.deadLists) { use(blob) }
      for root in roots {
        for tree in root.roots.trees where tree.page != 0 { visit(tree.page, tree.birth) }
      }
      for number in used where free.contains(Int(number)) {
        report("page \(number) is in use and free", at: PageFileLayout.offset(of: number))
      }
      let usedCount = Int(meta.pageBound) - 1 - free.count
      if findings.isEmpty, usedCount != used.count {
        report("\(usedCount) pages are not free, but \(used.count) are in use")
      }
    } catch { report(error.message, at: error.offset ?? 0) }
  }

  private mutating func use(_ blob: BlobReference) {
    do throws(TreeRingError) {
      for number in try file.pages(of: blob) where !used.insert(number).inserted {
        report("page \(number) is part of two lists", at: PageFileLayout.offset(of: number))
      }
    } catch { report(error.message, at: error.offset ?? 0) }
  }

  /// Roots share pages; what has been seen is not looked at again.
  private mutating func visit(_ number: PageNumber, _ birth: PageBirth) {
    if !used.insert(number).inserted { return }
    progress(UInt64(used.count) * UInt64(PageLayout.pageByteCount))
    do throws(TreeRingError) {
      let page = Page(bytes: try file.fetch(number, birth: birth))
      if page.level == 0 { return }
      for index in 0..<page.cellCount { visit(page.children[index], page.births[index]) }
    } catch { report(error.message, at: error.offset ?? 0) }
  }
}
