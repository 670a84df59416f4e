// The address of a location, and those of requests to it.

internal import Foundation

/// A location's address.
struct FirebaseAddress: Hashable, Sendable {
  /// The address without parameters, for messages.
  let location: String
  private let base: URLComponents

  /// - Throws: `invalidInput` if the URL is no address of a server.
  init(_ url: URL) throws(FirebaseError) {
    guard var base = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = base.scheme?.lowercased(), ["http", "https"].contains(scheme),
      base.host?.isEmpty == false
    else {
      throw FirebaseError(
        .invalidInput, "A location needs an address such as https://NAME.firebaseio.com/chats.")
    }
    var path = base.percentEncodedPath
    if path.hasSuffix(".json") { path.removeLast(5) }
    while path.hasSuffix("/") { path.removeLast() }
    // The name and the password of an address are not sent.
    base.user = nil
    base.password = nil
    base.fragment = nil
    base.percentEncodedPath = path + (path.isEmpty ? "/.json" : ".json")
    self.base = base
    base.percentEncodedQuery = nil
    location = base.string ?? path
  }

  /// The address of a request with parameters, besides those that the location has.
  func url(_ parameters: [RequestParameter]) -> URL? {
    var components = base
    let added = parameters.map { "\($0.name)=\(Self.encoded($0.value))" }
    let present = base.percentEncodedQuery.map { $0.isEmpty ? [] : [$0] } ?? []
    let query = (present + added).joined(separator: "&")
    components.percentEncodedQuery = query.isEmpty ? nil : query
    return components.url
  }

  /// The target of a redirect. The credential in the parameters is kept.
  /// - Throws: `badRedirect` if there is no target, or if it would drop encryption.
  func redirect(
    from url: URL, to target: String?, _ credential: [RequestParameter]
  ) throws(FirebaseError) -> URL {
    guard let target, let next = URL(string: target, relativeTo: url)?.absoluteURL,
      var components = URLComponents(url: next, resolvingAgainstBaseURL: true),
      let scheme = components.scheme?.lowercased(), ["http", "https"].contains(scheme)
    else {
      throw FirebaseError(.badRedirect, "The server redirects without a usable address.")
    }
    if url.scheme?.lowercased() == "https", scheme == "http" {
      throw FirebaseError(
        .badRedirect, "The server redirects to an address without encryption; not followed.")
    }
    var query =
      components.percentEncodedQuery.map { $0.split(separator: "&").map(String.init) } ?? []
    for parameter in credential where !query.contains(where: { $0.hasPrefix("\(parameter.name)=") })
    {
      query.append("\(parameter.name)=\(Self.encoded(parameter.value))")
    }
    components.percentEncodedQuery = query.isEmpty ? nil : query.joined(separator: "&")
    return components.url ?? next
  }

  private static func encoded(_ text: String) -> String {
    var output = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        output.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        output += byte < 16 ? "%0" : "%"
        output += String(byte, radix: 16, uppercase: true)
      }
    }
    return output
  }
}
