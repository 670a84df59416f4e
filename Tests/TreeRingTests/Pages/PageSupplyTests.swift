import TestSupport
import Testing
import TreeRingPlatform

@testable import TreeRing
@testable import TreeRingLog

@Suite("Pages fetched from a supply") struct PageSupplyTests {
  /// A tree written to memory that replaces a mapped page file.
  final class File: Sendable {
    let memory: Mutex<UInt>
    let byteCount: Int
    let root: TreeRoot
    let model: ModelMap
    let numberBound: PageNumber
    let free: BitSet
    /// The addresses of the pages evicted from a heap.
    let moved = Mutex<[PageNumber: UInt]>([:])
    let fetchCount = Atomic<Int>(0)
    let readCount = Atomic<Int>(0)

    init(entryCount: Int, cellCapacity: Int) {
      let pages = PageStore(cellCapacity: cellCapacity)
      let editor = PageEditor(pages: pages, epoch: 3)
      var root = TreeRoot.empty
      var model = ModelMap()
      for number in 0..<entryCount {
        let key = Bytes("\(number * 31 % 1009)".utf8)
        editor.put(&root, key, [UInt8(number % 251)])
        _ = model.put(key, [UInt8(number % 251)])
      }
      for number in 0..<(entryCount / 2) {
        let key = Bytes("\(number * 31 % 1009)".utf8)
        editor.remove(&root, key)
        _ = model.remove(key)
      }
      _ = editor.finish()
      byteCount = Int(pages.pageNumberBound) * PageLayout.pageByteCount
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 4096)
      Tree(root, pages: pages).forEachPage { page in
        let start = Int(page.number) * PageLayout.pageByteCount
        PageImage.write(
          page,
          to: UnsafeMutableRawBufferPointer(
            rebasing: bytes[start..<(start + PageLayout.pageByteCount)]))
      }
      memory = Mutex(UInt(bitPattern: bytes.baseAddress))
      self.root = root
      self.model = model
      numberBound = pages.pageNumberBound
      free = pages.numbers.free
    }

    deinit { UnsafeMutableRawPointer(bitPattern: memory.withLock { $0 })?.deallocate() }

    var bytes: UnsafeMutableRawBufferPointer {
      UnsafeMutableRawBufferPointer(
        start: UnsafeMutableRawPointer(bitPattern: memory.withLock { $0 }), count: byteCount)
    }

    func page(
      _ number: PageNumber, _ birth: PageBirth
    ) throws(TreeRingError) -> UnsafeMutableRawPointer {
      let address = moved.withLock { $0[number] }
      if let home = address.flatMap({ UnsafeMutableRawPointer(bitPattern: $0) }) {
        let image = UnsafeRawBufferPointer(start: home, count: PageLayout.pageByteCount)
        let flaw = PageImage.flaw(in: image, number: number, birth: birth)
        if let flaw { throw TreeRingError(.corruption, flaw) }
        return home
      }
      let start = Int(number) * PageLayout.pageByteCount
      let image = bytes[start..<(start + PageLayout.pageByteCount)]
      guard let address = UnsafeMutableRawBufferPointer(rebasing: image).baseAddress else {
        throw TreeRingError(.io, "no memory")
      }
      if let flaw = PageImage.flaw(
        in: UnsafeRawBufferPointer(rebasing: image), number: number, birth: birth)
      {
        throw TreeRingError(.corruption, flaw)
      }
      return address
    }

    /// A store without pages in memory.
    /// - Parameter canRead: Whether pages can also be read into other memory.
    func open(canRead: Bool = true, cellCapacity: Int = 8) -> PageStore {
      let read: PageSupply.Read = { (number, birth, bytes) throws(TreeRingError) in
        memcpy(bytes, try self.page(number, birth), PageLayout.pageByteCount)
        self.readCount.add(1, ordering: .relaxed)
      }
      let supply = PageSupply(read: canRead ? read : nil) { (number, birth) throws(TreeRingError) in
        let page = try self.page(number, birth)
        self.fetchCount.add(1, ordering: .relaxed)
        return page
      }
      let pages = PageStore(supply: supply, cellCapacity: cellCapacity)
      pages.adopt(bound: numberBound, free: free)
      return pages
    }
  }

  @Test(
    "A tree is read and edited through pages fetched at first access", arguments: [true, false])
  func fetched(canRead: Bool) {
    let file = File(entryCount: 600, cellCapacity: 8)
    let pages = file.open(canRead: canRead)
    let before = pages.livePageCount
    expectSame(file.root, file.model, pages, "fetched")
    #expect(pages.fetchFailureCount == 0)
    var root = file.root
    var model = file.model
    let editor = PageEditor(pages: pages, epoch: 4)
    for number in 0..<500 {
      let key = Bytes("\(number * 7 % 1009)".utf8)
      if number % 3 == 0 {
        #expect(editor.remove(&root, key) == model.remove(key))
      } else {
        #expect(editor.put(&root, key, [9]) == model.put(key, [9]))
      }
    }
    expectSame(root, model, pages, "edited")
    expectSame(file.root, file.model, pages, "the file's tree")
    pages.free(editor.finish().retired.map(\.number))
    let reachable = TreeChecker.reachablePages(root, pages: pages)
    #expect(pages.livePageCount == reachable.count)
    let bound = Int(file.numberBound)
    #expect(before == bound - 1 - file.free.members(below: bound).count)
  }

  @Test("Pages are fetched one path at a time")
  func fetchedLazily() {
    let file = File(entryCount: 900, cellCapacity: 8)
    let pages = file.open()
    let tree = Tree(file.root, pages: pages)
    let key = file.model.keys[100]
    #expect(tree.get(key) == file.model.values[100])
    let fetchCount = file.fetchCount.load(ordering: .relaxed)
    #expect(fetchCount <= 6)
    #expect(tree.get(key) == file.model.values[100])
    #expect(file.fetchCount.load(ordering: .relaxed) == fetchCount)
  }

  @Test("An edit reads the pages of its path into own ones, and fetches the topmost alone")
  func readForEdits() throws {
    let file = File(entryCount: 900, cellCapacity: 8)
    let pages = file.open()
    var root = file.root
    let editor = PageEditor(pages: pages, epoch: 4)
    let (key, other) = (try #require(file.model.keys.first), try #require(file.model.keys.last))
    #expect(!editor.put(&root, key, [7, 7]))
    let height = pages.table.top(of: root).level
    #expect(height > 1 && file.readCount.load(ordering: .relaxed) == height)
    #expect(Tree(root, pages: pages).get(key) == [7, 7])
    #expect(!editor.put(&root, key, [8]))
    #expect(file.readCount.load(ordering: .relaxed) == height)
    #expect(!editor.put(&root, other, [9]))
    #expect(file.readCount.load(ordering: .relaxed) == 2 * height)
    #expect(file.fetchCount.load(ordering: .relaxed) == 1)
    #expect(editor.retired.count == 1 + 2 * height)
    for page in editor.retired where page.number != file.root.page {
      let image = Page(bytes: try file.page(page.number, page.birth))
      #expect(image.birth == page.birth && !pages.table.contains(page.number))
    }
    // A page that has become too empty is merged with a neighbour, which is fetched.
    var model = file.model
    for key in file.model.keys.dropFirst(3).prefix(5) {
      #expect(editor.remove(&root, key) && model.remove(key))
    }
    #expect(!model.put(key, [8]) && !model.put(other, [9]))
    expectSame(root, model, pages, "edited")
    expectSame(file.root, file.model, pages, "the file's tree")
    pages.free(editor.finish().retired)
    #expect(pages.livePageCount == TreeChecker.reachablePages(root, pages: pages).count)
    #expect(pages.fetchFailureCount == 0)
  }

  @Test(
    "A sound page that is not the one its entry names is refused, read or fetched",
    arguments: [true, false])
  func contradicted(canRead: Bool) throws {
    let file = File(entryCount: 900, cellCapacity: 8)
    let start = Int(file.root.page) * PageLayout.pageByteCount
    let image = UnsafeMutableRawBufferPointer(
      rebasing: file.bytes[start..<(start + PageLayout.pageByteCount)])
    let top = Page(bytes: try #require(image.baseAddress))
    // The sum stays, so that the topmost page agrees with the root.
    top.counts[0] &+= 1
    top.counts[1] &-= 1
    let changed = PageBuffer()
    PageImage.write(top, to: changed.bytes)
    image.copyMemory(from: UnsafeRawBufferPointer(changed.bytes))
    let pages = file.open(canRead: canRead)
    let editor = PageEditor(pages: pages, epoch: 4)
    var root = file.root
    let error = #expect(throws: TreeRingError.self) {
      try pages.reading { editor.put(&root, file.model.keys[0], [1]) }
    }
    #expect(error?.code == .corruption && pages.fetchFailureCount > 0)
    editor.discard()
    #expect(pages.frameCount == 0)
  }

  @Test(
    "A page is evicted under its readers, and checked when it is fetched again",
    arguments: [true, false])
  func movedOut(canRead: Bool) {
    let file = File(entryCount: 400, cellCapacity: 8)
    let pages = file.open(canRead: canRead)
    var root = file.root
    var model = file.model
    let editor = PageEditor(pages: pages, epoch: 4)
    for number in 0..<200 {
      let key = Bytes("\(number * 5 % 1009)".utf8)
      editor.put(&root, key, [8])
      _ = model.put(key, [8])
    }
    let allocated = editor.finish().allocated
    #expect(pages.frameCount == allocated.count)
    let home = UnsafeMutableRawBufferPointer.allocate(
      byteCount: allocated.count * PageLayout.pageByteCount, alignment: 4096)
    defer { home.deallocate() }
    var frames: [UnsafeMutableRawPointer] = []
    for (index, number) in allocated.enumerated() {
      let start = index * PageLayout.pageByteCount
      let image = UnsafeMutableRawBufferPointer(
        rebasing: home[start..<(start + PageLayout.pageByteCount)])
      PageImage.write(pages.page(number), to: image)
      file.moved.withLock { $0[number] = UInt(bitPattern: image.baseAddress) }
      let page = RetiredPage(number: number, birth: 4)
      #expect(pages.evict(page) == nil, "the file does not hold it yet")
      pages.markClean([page])
      if let frame = pages.evict(page) { frames.append(frame) }
    }
    #expect(frames.count == allocated.count)
    // A cursor keeps its position although every page of its path has to be fetched again.
    expectSame(root, model, pages, "moved")
    #expect(pages.fetchFailureCount == 0)
    pages.releaseFrames(frames)
    #expect(pages.frameCount == 0)
    expectSame(root, model, pages, "frames released")
    let next = PageEditor(pages: pages, epoch: 5)
    next.removeAll(&root)
    let retired = next.finish().retired
    #expect(Set(retired.map(\.number)).isSuperset(of: allocated))
    pages.free(retired.map(\.number))
    #expect(pages.frameCount == 0)
  }

  @Test("A failed fetch ends its own read section and no other")
  func failsForOneThread() throws {
    let file = File(entryCount: 400, cellCapacity: 8)
    file.bytes[Int(file.root.page) * PageLayout.pageByteCount + 100] ^= 1
    let pages = file.open()
    let root = file.root
    let before = pages.fetchFailureCount
    // A section that does not read that page continues while another thread fails on it.
    let answer = try pages.reading {
      onThreads(1) { _ in
        #expect(throws: TreeRingError.self) {
          try pages.reading { Tree(root, pages: pages).get([1]) }
        }
      }
      return 7
    }
    #expect(answer == 7 && pages.fetchFailureCount > before)
    try pages.checkFetches(since: before)
    // Its own failure ends a section, and so does that of an inner one; the next section is
    // unaffected.
    let error = #expect(throws: TreeRingError.self) {
      try pages.reading {
        _ = try? pages.reading { Tree(root, pages: pages).get([1]) }
      }
    }
    #expect(error?.code == .corruption)
    #expect(try pages.reading { 8 } == 8)
  }

  @Test("A transaction that needs more pages than there are numbers ends in an error")
  func outOfNumbers() throws {
    let supply = PageSupply { (number, _) throws(TreeRingError) in
      throw TreeRingError(.corruption, "there is no page \(number)")
    }
    let pages = PageStore(supply: supply, cellCapacity: 4, numberEnd: 20)
    var root = TreeRoot.empty
    let editor = PageEditor(pages: pages, epoch: 1)
    let error = #expect(throws: TreeRingError.self) {
      try pages.reading { for key: UInt8 in 0..<100 { editor.put(&root, [key], [key]) } }
    }
    #expect(error?.code == .tooLarge)
    #expect(pages.privatePageCount > 0 && pages.filePageCount == 19)
    editor.discard()
    #expect(pages.livePageCount == 0)
    let code = #expect(throws: TreeRingError.self) { _ = try pages.reserveNumbers(20) }?.code
    #expect(code == .tooLarge && pages.livePageCount == 0)
    #expect(try pages.reserveNumbers(19).count == 19)
  }

  @Test(
    "A page that cannot be fetched is counted, and reading on is safe", arguments: 1...4,
    [true, false])
  func damaged(seed: Int, canRead: Bool) {
    let file = File(entryCount: 400, cellCapacity: 8)
    var random = SeededGenerator(seed: UInt64(seed))
    let numbers = (1..<Int(file.numberBound)).filter { !file.free.contains($0) }
    for number in numbers.shuffled(using: &random).prefix(seed) {
      file.bytes[number * PageLayout.pageByteCount + 100] ^= 1
    }
    let pages = file.open(canRead: canRead)
    let tree = Tree(file.root, pages: pages)
    for (key, value) in zip(file.model.keys, file.model.values) {
      let count = pages.fetchFailureCount
      if tree.get(key) != value { #expect(pages.fetchFailureCount > count) }
      _ = tree.rank(key)
      _ = key.withUnsafeBytes { tree.makeCursorAndWalk(from: $0) }
    }
    for position in 0..<tree.count { _ = tree.withEntry(at: position) { $0.count + $1.count } }
    var rowCount = 0
    for start in stride(from: 0, to: tree.count, by: 37) {
      tree.forEach(in: start..<tree.count) { _, _ in true }
      tree.forEachBackward(in: 0..<(start + 1)) { _, _ in true }
    }
    tree.forEach { _, _ in
      rowCount += 1
      return true
    }
    #expect(rowCount < tree.count)
    var diff = TreeDiff(from: .empty, to: file.root, pages: pages)
    diff.forEach { _, _, _ in true }
    #expect(!TreeChecker.check(file.root, pages: pages).isEmpty)
    #expect(pages.lastFetchFailure?.code == .corruption)
    // A transaction on such a tree must be discarded, and discarding works.
    var root = file.root
    let editor = PageEditor(pages: pages, epoch: 4)
    for key in file.model.keys.shuffled(using: &random) {
      if Bool.random(using: &random) { editor.put(&root, key, [1, 2, 3]) }
      editor.remove(&root, key)
    }
    editor.discard()
  }
}

extension Tree {
  /// Moves a cursor some entries forward and back.
  fileprivate func makeCursorAndWalk(from key: UnsafeRawBufferPointer) -> Int {
    var cursor = makeCursor()
    var sum = 0
    if cursor.seek(to: key) {
      for _ in 0..<20 where cursor.isValid {
        sum += cursor.withEntry { $0.count + $1.count }
        cursor.next()
      }
    }
    if cursor.seek(to: key) || cursor.seekToLast() {
      for _ in 0..<20 where cursor.isValid {
        sum += cursor.position
        cursor.previous()
      }
    }
    return sum
  }
}
