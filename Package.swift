// swift-tools-version: 6.2
import PackageDescription

// A build for the thread sanitizer has a mutex of its own (Sources/TreeRingPlatform/Mutex.swift).
let isSanitized = Context.environment["TREERING_SANITIZED"] != nil
let strict: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
  ] + (isSanitized ? [.define("THREAD_SANITIZER")] : [])

let package = Package(
  name: "TreeRing",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "TreeRing", targets: ["TreeRing"]),
    .library(name: "TreeRingMappings", targets: ["TreeRingMappings"]),
    .library(name: "TreeRingCollections", targets: ["TreeRingCollections"]),
    .library(name: "TreeRingFirebase", targets: ["TreeRingFirebase"]),
    .library(name: "TreeRingImport", targets: ["TreeRingImport"]),
    .library(name: "TreeRingMetrics", targets: ["TreeRingMetrics"]),
    .library(name: "TreeRingRemote", targets: ["TreeRingRemote"]),
    .library(name: "TreeRingReplication", targets: ["TreeRingReplication"]),
    .library(name: "TreeRingStreams", targets: ["TreeRingStreams"]),
    .library(name: "TreeRingTesting", targets: ["TreeRingTesting"]),
    // These two are for the server alone (Tools/server), which is a package of its own.
    .library(name: "TreeRingLive", targets: ["TreeRingLive"]),
    .library(name: "TreeRingRealtime", targets: ["TreeRingRealtime"]),
  ],
  // An app enables this trait to use TreeRingMetrics; without it, no app resolves swift-metrics.
  traits: [
    .trait(name: "Metrics", description: "The contents of TreeRingMetrics."),
    .default(enabledTraits: Context.environment["TREERING_TOOL"] == nil ? [] : ["Metrics"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
    .target(name: "CStemmer", exclude: ["COPYING", "README.md"]),
    .target(name: "CTreeRing"),
    .target(name: "TreeRingPlatform", swiftSettings: strict),
    .target(
      name: "TreeRingLog",
      dependencies: [
        "CLZ4", "CTreeRing", "TreeRingPlatform", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRing",
      dependencies: [
        "CStemmer", "CTreeRing", "TreeRingLog", "TreeRingPlatform",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingMappings", dependencies: ["TreeRing", "TreeRingLog", "TreeRingPlatform"],
      swiftSettings: strict),
    .target(
      name: "TreeRingCollections",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingMappings", "TreeRingPlatform",
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingFirebase",
      dependencies: [
        "TreeRing", "TreeRingCollections", "TreeRingHTTP", "TreeRingLog", "TreeRingPlatform",
      ],
      swiftSettings: strict),
    .target(name: "TreeRingHTTP", dependencies: ["TreeRingPlatform"], swiftSettings: strict),
    .target(
      name: "TreeRingImport", dependencies: ["TreeRing", "TreeRingLog"], swiftSettings: strict),
    .target(
      name: "TreeRingLive",
      dependencies: [
        "TreeRing", "TreeRingImport", "TreeRingLog", "TreeRingMappings", "TreeRingPlatform",
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingRealtime",
      dependencies: [
        "TreeRing", "TreeRingFirebase", "TreeRingLive", "TreeRingLog", "TreeRingPlatform",
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingMetrics",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingPlatform",
        .product(
          name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingRemote",
      dependencies: [
        "TreeRing", "TreeRingHTTP", "TreeRingImport", "TreeRingLog", "TreeRingMappings",
        "TreeRingPlatform",
      ],
      swiftSettings: strict),
    .target(
      name: "TreeRingReplication", dependencies: ["TreeRing", "TreeRingLog", "TreeRingPlatform"],
      swiftSettings: strict),
    .target(
      name: "TreeRingStreams", dependencies: ["TreeRing", "TreeRingLog"], swiftSettings: strict),
    .target(
      name: "TreeRingTesting", dependencies: ["TreeRing", "TreeRingReplication"],
      swiftSettings: strict),
    .target(
      name: "TestSupport",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingPlatform",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/TestSupport",
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingLogTests",
      dependencies: [
        "TreeRingLog", "TreeRingPlatform", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingTests",
      dependencies: ["TreeRing", "TreeRingLog", "TreeRingPlatform", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingMappingsTests",
      dependencies: ["TreeRingMappings", "TreeRingPlatform", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingCollectionsTests",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingPlatform", "TreeRingMappings", "TreeRingCollections",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingFirebaseTests",
      dependencies: [
        "TreeRing", "TreeRingCollections", "TreeRingFirebase", "TreeRingHTTP", "TreeRingPlatform",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ConcurrencyTests",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingMappings", "TreeRingCollections", "TreeRingPlatform",
        "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingImportTests",
      dependencies: ["TreeRing", "TreeRingImport", "TreeRingLog", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingLiveTests",
      dependencies: [
        "TreeRing", "TreeRingImport", "TreeRingLive", "TreeRingLog", "TreeRingMappings",
        "TreeRingPlatform", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingRealtimeTests",
      dependencies: [
        "TreeRing", "TreeRingFirebase", "TreeRingLive", "TreeRingLog", "TreeRingPlatform",
        "TreeRingRealtime", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingRemoteTests",
      dependencies: [
        "TreeRing", "TreeRingHTTP", "TreeRingImport", "TreeRingLive", "TreeRingLog",
        "TreeRingMappings", "TreeRingPlatform", "TreeRingRemote", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingReplicationTests",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingMappings", "TreeRingPlatform", "TreeRingReplication",
        "TreeRingTesting", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingStreamsTests",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingPlatform", "TreeRingStreams", "TreeRingTesting",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingMetricsTests",
      dependencies: [
        "TreeRing", "TreeRingLog", "TreeRingMetrics", "TreeRingPlatform", "TestSupport",
        .product(
          name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)

// The tool and what tests it. Only the commands under Tools set this variable. So an app that depends
// on the libraries neither resolves nor builds the argument parser.
if Context.environment["TREERING_TOOL"] != nil {
  package.dependencies.append(
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"))
  package.products.append(.executable(name: "treering", targets: ["treering"]))
  package.targets += [
    .executableTarget(
      name: "treering",
      dependencies: [
        "TreeRing", "TreeRingImport", "TreeRingLive", "TreeRingLog", "TreeRingMappings",
        "TreeRingPlatform", "TreeRingStreams",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tools/treering", swiftSettings: strict),
    .executableTarget(
      name: "Crasher",
      dependencies: ["TreeRing", "TreeRingLog", "TreeRingPlatform", "TestSupport"],
      path: "Tests/Crasher", swiftSettings: strict),
    .testTarget(
      name: "TreeRingToolTests",
      dependencies: [
        "treering", "Crasher", "TreeRing", "TreeRingLive", "TreeRingLog", "TreeRingMappings",
        "TreeRingPlatform",
        "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      exclude: ["Scripts"], swiftSettings: strict),
  ]
}

// The commands under Tools optimise what computes: the engine, the lists, and the tests that
// compare them with slow models, which then take a fifth of the time, those of the log and of
// replication half of it. Everything else compiles in a third of the time without.
if Context.environment["TREERING_OPTIMIZED"] != nil {
  let computing = [
    "TreeRingPlatform", "TreeRingLog", "TreeRing", "TreeRingMappings", "TreeRingCollections",
    "TreeRingFirebase", "TreeRingReplication", "TreeRingTesting", "TestSupport",
    "TreeRingLogTests", "TreeRingMappingsTests", "TreeRingCollectionsTests",
    "TreeRingFirebaseTests", "TreeRingReplicationTests",
  ]
  for target in package.targets where computing.contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(["-O"])]
  }
}

// A list of test targets, separated by commas, builds these alone: the build of all tests takes far
// longer than that of the libraries.
if let wanted = Context.environment["TREERING_TESTS"], !wanted.isEmpty {
  let names = wanted.split(separator: ",").map(String.init)
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

// The thread sanitizer runs the concurrent tests alone, unless others are named.
if isSanitized, (Context.environment["TREERING_TESTS"] ?? "").isEmpty {
  package.targets.removeAll { $0.type == .test && $0.name != "ConcurrencyTests" }
}

// Fuzzing needs flags that a package others depend on may not have; see Tests/Fuzz/README.md.
if Context.environment["TREERING_FUZZ"] != nil {
  let flags = ["-sanitize=fuzzer,address"]
  for target in package.targets where ["TreeRingLog", "TreeRing"].contains(target.name) {
    target.swiftSettings = strict + [.unsafeFlags(flags)]
  }
  package.targets.append(
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "TreeRing", "TreeRingLog", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Fuzz", exclude: ["README.md", "corpora"],
      swiftSettings: [.unsafeFlags(flags + ["-parse-as-library"])],
      linkerSettings: [.unsafeFlags(flags + ["-use-ld=lld"])]))
}
