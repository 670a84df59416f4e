// swift-tools-version: 6.2
// An app that depends on TreeRing as any app does. Tools/sample sets TREERING_URL to a clone of
// this repository that has the tag.
import PackageDescription

let package = Package(
  name: "SampleApp",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(
      url: Context.environment["TREERING_URL"] ?? "file://\(Context.packageDirectory)/../..",
      from: "0.1.0")
  ],
  targets: [
    .executableTarget(
      name: "SampleApp",
      dependencies: [
        .product(name: "TreeRing", package: "TreeRing"),
        .product(name: "TreeRingMappings", package: "TreeRing"),
        .product(name: "TreeRingCollections", package: "TreeRing"),
        .product(name: "TreeRingImport", package: "TreeRing"),
      ])
  ]
)
