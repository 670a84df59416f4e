// Files that anybody may read: they hold no data of the store.

internal import TreeRingLive

/// A file of the server.
struct StaticFile: Sendable {
  let type: String
  let bytes: [UInt8]

  var answer: LiveAnswer { LiveAnswer(contentType: type, body: bytes) }

  /// The files by path.
  static let all: [String: StaticFile] = [
    "/treering.js": StaticFile(
      type: "text/javascript; charset=utf-8", bytes: PackageResources.treering_js),
    "/v1/openapi.json": StaticFile(type: "application/json", bytes: LiveService.openAPI),
  ]
}
