// swift-tools-version: 6.2
// A package of its own, so that apps that embed TreeRing need no client library of NATS.
import PackageDescription

var strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]
// The same variable optimises the libraries, in a build that the tests share.
if Context.environment["TREERING_OPTIMIZED"] != nil { strict.append(.unsafeFlags(["-O"])) }

let package = Package(
  name: "TreeRingNATS",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [.library(name: "TreeRingNATS", targets: ["TreeRingNATS"])],
  dependencies: [
    .package(name: "TreeRing", path: "../.."),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
    .target(
      name: "TreeRingNATS",
      dependencies: [
        "CNATS",
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingReplication", package: "TreeRing"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "ReplicaWriter",
      dependencies: [
        "TreeRingNATS",
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingReplication", package: "TreeRing"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/ReplicaWriter", swiftSettings: strict),
    .testTarget(
      name: "TreeRingNATSTests",
      dependencies: [
        "ReplicaWriter", "TreeRingNATS",
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingReplication", package: "TreeRing"),
        .product(name: "TreeRingTesting", package: "TreeRing"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// The tool for clusters. Only the commands under Tools set this variable. So an app that depends on
// the log does not resolve the argument parser.
if Context.environment["TREERING_TOOL"] != nil {
  package.dependencies.append(
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"))
  package.products.append(.executable(name: "treering-cluster", targets: ["treering-cluster"]))
  package.targets.append(
    .executableTarget(
      name: "treering-cluster",
      dependencies: [
        "TreeRingNATS",
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingImport", package: "TreeRing"),
        .product(name: "TreeRingRemote", package: "TreeRing"),
        .product(name: "TreeRingReplication", package: "TreeRing"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict))
}
