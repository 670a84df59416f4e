// One request and the pieces of its answer.

internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import TreeRingRemote

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// An answer. The end of its life ends the request.
///
/// It is not checked for concurrent access: the stream around it has one reader, who asks for one
/// piece after another.
final class Answer: @unchecked Sendable {
  private enum State {
    case unsent(HTTPClientRequest)
    case body(HTTPClientResponse.Body.AsyncIterator)
    case ended
  }

  private var state: State
  private let client: HTTPClient
  /// Keeps the transport alive, and with it the client.
  private let transport: HTTPClientTransport

  init(of request: HTTPRequest, by client: HTTPClient, of transport: HTTPClientTransport) {
    var sent = HTTPClientRequest(url: request.url.absoluteString)
    sent.method = HTTPMethod(rawValue: request.method)
    sent.headers = HTTPHeaders(request.headers.sorted { $0.key < $1.key })
    sent.body = request.body.map { .bytes(ByteBuffer(bytes: $0)) }
    state = .unsent(sent)
    (self.client, self.transport) = (client, transport)
  }

  /// The next piece; nil at the end of the answer, and after cancellation.
  func next() async throws -> HTTPAnswer? {
    do {
      let piece = try await takePiece()
      if piece != nil, !Task.isCancelled { return piece }
      state = .ended
      return nil
    } catch {
      state = .ended
      if Task.isCancelled { return nil }
      throw error
    }
  }

  private func takePiece() async throws -> HTTPAnswer? {
    switch state {
    case .unsent(let request):
      let answer = try await client.execute(request, deadline: .distantFuture)
      state = .body(answer.body.makeAsyncIterator())
      return .head(status: Int(answer.status.code), headers: Self.headers(answer.headers))
    case .body(var body):
      let bytes = try await body.next()
      return bytes.map { .bytes([UInt8](buffer: $0)) }
    case .ended: return nil
    }
  }

  /// The headers by name in lower case; the values of one name, joined by commas.
  private static func headers(_ headers: HTTPHeaders) -> [String: String] {
    Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
  }
}
