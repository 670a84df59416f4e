// The rule that makes lost and misdirected writes detectable: no write replaces a page of the same
// number and birth with different content.

import TestSupport
import Testing

@testable import TreeRing

/// A watcher of writes that reports a page written over its twin: a tree's page of the same number
/// and birth with different content.
@Sendable func refuseTwins(_ path: String, _ offset: Int, _ old: [UInt8], _ new: [UInt8]) {
  guard path.hasSuffix("/pages"), offset % PageLayout.pageByteCount == 0 else { return }
  for start in stride(from: 0, to: old.count, by: PageLayout.pageByteCount) {
    let end = start + PageLayout.pageByteCount
    guard offset + start >= 2 * PageLayout.pageByteCount, end <= old.count, end <= new.count
    else { continue }
    let (before, after) = (old[start..<end], new[start..<end])
    guard before != after, isPage(after), isPage(before) else { continue }
    func field(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ count: Int) -> ArraySlice<UInt8> {
      bytes[(bytes.startIndex + offset)..<(bytes.startIndex + offset + count)]
    }
    let number = field(after, PageLayout.numberOffset, 4)
    let birth = field(after, PageLayout.birthOffset, 8)
    if field(before, PageLayout.numberOffset, 4).elementsEqual(number),
      field(before, PageLayout.birthOffset, 8).elementsEqual(birth)
    {
      Issue.record("page \(Array(number)) of birth \(Array(birth)) is written twice")
    }
  }
}

/// Whether bytes are a tree's page that passes its checks.
private func isPage(_ bytes: ArraySlice<UInt8>) -> Bool {
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  let number = copy.load(fromByteOffset: PageLayout.numberOffset, as: UInt32.self)
  let birth = copy.load(fromByteOffset: PageLayout.birthOffset, as: UInt64.self)
  return PageImage.flaw(
    in: UnsafeRawBufferPointer(copy), number: number, birth: PageBirth(rawValue: birth)) == nil
}
