import Testing

@testable import TreeRing

@Suite struct DigestTests {
  @Test("Digests are those of XXH64 with seed 0, whatever the length")
  func vectors() {
    #expect(Digest.of([]) == 0xEF46_DB37_51D8_E999)
    #expect(Digest.of(Array("a".utf8)) == 0xD24E_C4F1_A98C_6E5B)
    #expect(Digest.of(Array("abc".utf8)) == 0x44BC_2CF5_AD77_0999)
    #expect(Digest.of(Array("xxhash".utf8)) == 0x32DD_3895_2C4B_C720)
    #expect(
      Digest.of(Array("Nobody inspects the spammish repetition".utf8)) == 0xFBCE_A83C_8A37_8BF1)
    #expect(Digest.of((0..<100).map { UInt8($0) }) == 0x6AC1_E580_3216_6597)
  }

  @Test("Every byte counts, at every length up to 100")
  func everyByteCounts() {
    for count in 1...100 {
      let bytes = [UInt8](repeating: 7, count: count)
      let digest = Digest.of(bytes)
      for index in 0..<count {
        var other = bytes
        other[index] ^= 1
        #expect(Digest.of(other) != digest)
      }
    }
  }
}
