// swift-tools-version: 6.2
// The server is a separate package, so that apps that embed TreeRing neither resolve nor build a
// network stack.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let store: [Target.Dependency] = [
  .product(name: "TreeRing", package: "TreeRing"),
  .product(name: "TreeRingLive", package: "TreeRing"),
  .product(name: "TreeRingRealtime", package: "TreeRing"),
]
// The files of the inspector, in Static/inspector; StaticFile.swift gives them their paths.
let inspector = [
  "address.js",
  "api.js",
  "base.css",
  "buckets-view.js",
  "columns.js",
  "commit-panel.js",
  "compare-view.js",
  "dom.js",
  "fields.js",
  "format.js",
  "group-window.js",
  "groups-view.js",
  "icon.svg",
  "index-view.js",
  "json.js",
  "lists.css",
  "log-view.js",
  "main.js",
  "meter.js",
  "moment.js",
  "page.html",
  "page.js",
  "plot.js",
  "row-panel.js",
  "row-window.js",
  "rows-view.js",
  "scaled-scroll.js",
  "stats-view.js",
  "timeline-scale.js",
  "timeline.css",
  "timeline.js",
  "token.js",
  "views.css",
  "virtual-list.js",
]
let network: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]

let package = Package(
  name: "TreeRingServer",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "TreeRing", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    .target(
      name: "TreeRingServer",
      dependencies: store + network + [
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      resources: [.embedInCode("Static/treering.js")]
        + inspector.map { .embedInCode("Static/inspector/\($0)") },
      swiftSettings: strict),
    .executableTarget(
      name: "treering-server",
      dependencies: ["TreeRingServer", .product(name: "Logging", package: "swift-log")] + store,
      swiftSettings: strict),
    // Measures; the figures of docs/server.md name its commands.
    .executableTarget(
      name: "treering-load",
      dependencies: ["TreeRingServer"] + store + network + [
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingServerTests",
      dependencies: [
        "TreeRingServer",
        .product(name: "TreeRingCollections", package: "TreeRing"),
        .product(name: "TreeRingFirebase", package: "TreeRing"),
        .product(name: "TreeRingMappings", package: "TreeRing"),
        .product(name: "TreeRingRemote", package: "TreeRing"),
        .product(name: "TreeRingReplication", package: "TreeRing"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ] + store + network,
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
