// swift-tools-version: 6.2
// The benchmarks are a separate package, so that users get neither them nor the libraries of other
// engines. TREERING_PEERS=lmdb,sqlite,rocksdb,leveldb,grdb adds the named peers, whose libraries
// must be installed. GRDB is a package, which needs SQLite's library.
// TREERING_DIFFERENCEKIT=PATH adds DifferenceKit from the checkout at that path.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// A peer: the word that enables it, its Swift target, and its library, which is one of the system
/// or a product of a package.
struct Peer {
  enum Library {
    case system(name: String, apt: String)
    case product(name: String, package: String, url: String, from: Version)
  }
  let word: String
  let target: String
  let library: Library
}

let peers = [
  Peer(word: "lmdb", target: "PeerLMDB", library: .system(name: "CLMDB", apt: "liblmdb-dev")),
  Peer(
    word: "sqlite", target: "PeerSQLite", library: .system(name: "CSQLite", apt: "libsqlite3-dev")),
  Peer(
    word: "rocksdb", target: "PeerRocksDB",
    library: .system(name: "CRocksDB", apt: "librocksdb-dev")),
  Peer(
    word: "leveldb", target: "PeerLevelDB",
    library: .system(name: "CLevelDB", apt: "libleveldb-dev")),
  Peer(
    word: "grdb", target: "PeerGRDB",
    library: .product(
      name: "GRDB", package: "GRDB.swift", url: "https://github.com/groue/GRDB.swift",
      from: "7.10.0")),
]
let wanted = (Context.environment["TREERING_PEERS"] ?? "").split(separator: ",").map(String.init)
let enabled = peers.filter { wanted.contains($0.word) }
let comparesDifferenceKit = Context.environment["TREERING_DIFFERENCEKIT"] != nil

var targets: [Target] = [
  .target(name: "CBenchmarkClock"),
  .systemLibrary(
    name: "CLZ4Frame", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
  .target(name: "BenchmarkResults", swiftSettings: strict),
  .target(
    name: "BenchmarkHarness", dependencies: ["BenchmarkResults", "CBenchmarkClock", "CLZ4Frame"],
    swiftSettings: strict),
  .executableTarget(
    name: "performance-report", dependencies: ["BenchmarkResults"], swiftSettings: strict),
  .executableTarget(name: "instruction-guard", swiftSettings: strict),
  .executableTarget(
    name: "treering-bench",
    dependencies: [
      "BenchmarkHarness", "BenchmarkResults",
      .product(name: "TreeRing", package: "TreeRing"),
      .product(name: "TreeRingMappings", package: "TreeRing"),
      .product(name: "TreeRingCollections", package: "TreeRing"),
      .product(name: "TreeRingStreams", package: "TreeRing"),
    ] + enabled.map { .target(name: $0.target) }
      + (comparesDifferenceKit ? [.target(name: "PeerDifferenceKit")] : []),
    swiftSettings: strict),
]
var dependencies: [Package.Dependency] = [.package(name: "TreeRing", path: "..")]
for peer in enabled {
  let library: Target.Dependency
  switch peer.library {
  case .system(let name, let apt):
    targets.append(.systemLibrary(name: name, providers: [.apt([apt])]))
    library = .target(name: name)
  case .product(let name, let package, let url, let version):
    dependencies.append(.package(url: url, from: version))
    library = .product(name: name, package: package)
  }
  targets.append(
    .target(
      name: peer.target, dependencies: ["BenchmarkHarness", library], swiftSettings: strict))
}
if wanted.contains("sqlite") {
  targets.append(
    .executableTarget(
      name: "text-search",
      dependencies: [
        "BenchmarkHarness", "CSQLite", .product(name: "TreeRing", package: "TreeRing"),
      ],
      swiftSettings: strict))
}
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

// The libraries are optimised by the same variable, in a build that the tests share. CI counts
// instructions on it.
if Context.environment["TREERING_OPTIMIZED"] != nil {
  for target in targets {
    guard let settings = target.swiftSettings else { continue }
    target.swiftSettings = settings + [.unsafeFlags(["-O"])]
  }
}

let package = Package(
  name: "TreeRingBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: dependencies,
  targets: targets,
  swiftLanguageModes: [.v6]
)
