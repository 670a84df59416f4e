// The addresses of a server's live windows and bases.

internal import Foundation

/// An address, and the token in its fragment.
struct LiveAddress: Sendable {
  let url: URL
  let token: String?

  /// - Parameter suffix: The path of the requests.
  /// - Throws: `invalidInput` if the URL is no address of a server.
  init(_ url: URL, path suffix: String = "/v1/live") throws(RemoteError) {
    guard var components = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = components.scheme?.lowercased(), ["http", "https"].contains(scheme),
      components.host?.isEmpty == false
    else { throw Self.invalid }
    let fragment = components.fragment ?? ""
    token = fragment.hasPrefix("token=") ? String(fragment.dropFirst(6)) : nil
    // The name and the password of an address are not sent.
    (components.user, components.password) = (nil, nil)
    (components.fragment, components.query) = (nil, nil)
    var path = components.percentEncodedPath
    while path.hasSuffix("/") { path.removeLast() }
    if !path.hasSuffix(suffix) { path += suffix }
    components.percentEncodedPath = path
    guard let live = components.url else { throw Self.invalid }
    self.url = live
  }

  private static var invalid: RemoteError {
    RemoteError(.invalidInput, "A server has an address such as https://store.example.org.")
  }
}
