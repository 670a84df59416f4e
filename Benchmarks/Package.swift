// swift-tools-version: 6.2
// The benchmarks are a separate package, so that users get neither them nor the libraries of other
// engines. TREERING_PEERS=lmdb,sqlite,rocksdb,leveldb adds the named peers, whose libraries must be
// installed.
// TREERING_DIFFERENCEKIT=PATH adds DifferenceKit from the checkout at that path.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A peer: the word that enables it, its Swift target, its C library.
struct Peer {
  let word: String
  let target: String
  let library: String
  let pkgConfig: String
  let apt: String
}

let peers = [
  Peer(
    word: "lmdb", target: "PeerLMDB", library: "CLMDB", pkgConfig: "lmdb", apt: "liblmdb-dev"),
  Peer(
    word: "sqlite", target: "PeerSQLite", library: "CSQLite", pkgConfig: "sqlite3",
    apt: "libsqlite3-dev"),
  Peer(
    word: "rocksdb", target: "PeerRocksDB", library: "CRocksDB", pkgConfig: "rocksdb",
    apt: "librocksdb-dev"),
  Peer(
    word: "leveldb", target: "PeerLevelDB", library: "CLevelDB", pkgConfig: "leveldb",
    apt: "libleveldb-dev"),
]
let wanted = (Context.environment["TREERING_PEERS"] ?? "").split(separator: ",").map(String.init)
let enabled = peers.filter { wanted.contains($0.word) }
let comparesDifferenceKit = Context.environment["TREERING_DIFFERENCEKIT"] != nil

var targets: [Target] = [
  .target(name: "CBenchmarkClock"),
  .systemLibrary(
    name: "CLZ4Frame", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
  .target(
    name: "BenchmarkHarness", dependencies: ["CBenchmarkClock", "CLZ4Frame"],
    swiftSettings: strict),
  .executableTarget(
    name: "treering-bench",
    dependencies: [
      "BenchmarkHarness", .product(name: "TreeRing", package: "TreeRing"),
      .product(name: "TreeRingMappings", package: "TreeRing"),
      .product(name: "TreeRingCollections", package: "TreeRing"),
    ] + enabled.map { .target(name: $0.target) }
      + (comparesDifferenceKit ? [.target(name: "PeerDifferenceKit")] : []),
    swiftSettings: strict),
]
for peer in enabled {
  targets.append(
    .systemLibrary(name: peer.library, providers: [.apt([peer.apt])]))
  targets.append(
    .target(
      name: peer.target, dependencies: ["BenchmarkHarness", .target(name: peer.library)],
      swiftSettings: strict))
}

var dependencies: [Package.Dependency] = [.package(name: "TreeRing", path: "..")]
if let path = Context.environment["TREERING_DIFFERENCEKIT"] {
  dependencies.append(.package(name: "DifferenceKit", path: path))
  targets.append(
    .target(
      name: "PeerDifferenceKit",
      dependencies: [
        "BenchmarkHarness", .product(name: "DifferenceKit", package: "DifferenceKit"),
      ],
      swiftSettings: strict))
}

let package = Package(
  name: "TreeRingBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: dependencies,
  targets: targets,
  swiftLanguageModes: [.v6]
)
