// swift-tools-version: 6.2
// A package of its own, so that apps that embed TreeRing neither resolve nor build a network stack.
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "TreeRingHTTPClient",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [.library(name: "TreeRingHTTPClient", targets: ["TreeRingHTTPClient"])],
  dependencies: [
    .package(name: "TreeRing", path: "../.."),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
  ],
  targets: [
    .target(
      name: "TreeRingHTTPClient",
      dependencies: [
        .product(name: "TreeRingRemote", package: "TreeRing"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "TreeRingHTTPClientTests",
      dependencies: [
        "TreeRingHTTPClient",
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingFirebase", package: "TreeRing"),
        .product(name: "TreeRingMappings", package: "TreeRing"),
        .product(name: "TreeRingRemote", package: "TreeRing"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
