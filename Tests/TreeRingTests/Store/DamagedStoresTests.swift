// Some hundred of the damaged stores that `Tools/damage` tries in any number.

import TestSupport
import Testing

@testable import TreeRing
@testable import TreeRingLog

@Suite("Damaged stores")
struct DamagedStoresTests {
  @Test(
    "Every call returns what the sound store returned, or throws a typed error",
    arguments: seeds(1...1))
  func trials(seed: UInt64) throws {
    let samples = try DamageSample.all()
    for number in 0..<200 as Range<UInt64> {
      var trial = DamageTrial(samples, seed: seed, number: number)
      trial.runInMemory()
      #expect(trial.problems == [], "seed \(seed), trial \(number): \(trial.label)")
    }
  }

  @Test(
    "Damaged stores that once stopped the process, took a minute, or passed for bad input",
    arguments: [(11, 2442), (11, 10863), (2, 3599), (2, 10088), (2, 58925), (2, 62740)])
  func once(seed: UInt64, number: UInt64) throws {
    var trial = DamageTrial(try DamageSample.all(), seed: seed, number: number)
    trial.runInMemory()
    #expect(trial.problems == [], "\(trial.label)")
  }

  @Test("The same on disk, where mapped pages cannot be written")
  func folders() throws {
    let samples = try DamageSample.all()
    for number in 0..<30 as Range<UInt64> {
      let folder = try TemporaryFolder()
      var trial = DamageTrial(samples, seed: 2, number: number)
      try trial.runOnDisk(below: folder.path)
      #expect(trial.problems == [], "trial \(number): \(trial.label)")
    }
  }

  @Test("Every sample is sound as it was written")
  func samples() throws {
    for sample in try DamageSample.all() {
      let disk = MemoryFileSystem()
      try disk.setFiles(sample.files, in: "store")
      var options = DamageSample.options(.readOnly)
      for readsPages in [true, false] {
        options.readsPages = readsPages
        let store = try Store(path: "store", fileSystem: disk, options: options)
        #expect(store.newestCommit == sample.record.newest, "\(sample.name)")
        #expect(try store.checkInvariants() == [], "\(sample.name)")
        let state = try StoreState(store.snapshot())
        let expected = sample.record.states[store.newestCommit] ?? []
        #expect(
          expected.contains { state.difference(from: $0) == nil },
          "\(sample.name), pages \(readsPages)")
        try store.close()
      }
    }
  }
}
