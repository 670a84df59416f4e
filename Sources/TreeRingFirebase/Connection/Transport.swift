// HTTP requests whose answers arrive in pieces. Redirects are not followed here: the layer above
// decides that, because credentials must follow too.

internal import Foundation
internal import TreeRingPlatform

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A piece of an answer. The head comes first, and once.
enum AnswerPiece: Sendable {
  case head(AnswerHead)
  case bytes([UInt8])
}

/// The head of an answer.
struct AnswerHead: Sendable {
  let status: Int
  let contentType: String?
  /// The target of a redirect.
  let target: String?
}

typealias Answer = AsyncThrowingStream<AnswerPiece, any Error>

/// The sender of requests.
protocol Transport: Sendable {
  /// Sends a request. The stream ends with the answer, or fails if the connection is lost. Ending
  /// its iteration closes the connection.
  func send(_ request: URLRequest) -> Answer
}

/// A URL session whose answers are streams.
final class SessionTransport: Transport {
  private let receiver = AnswerReceiver()
  private let session: URLSession

  init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    // Each listener holds one connection; pages must not wait for these to end.
    configuration.httpMaximumConnectionsPerHost = 256
    session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
  }

  // The session keeps its delegate alive until then.
  deinit { session.invalidateAndCancel() }

  func send(_ request: URLRequest) -> Answer {
    let task = session.dataTask(with: request)
    return Answer { continuation in
      receiver.register(continuation, for: task.taskIdentifier)
      // Keeps the session alive as long as the answer is read.
      continuation.onTermination = { [self] _ in
        withExtendedLifetime(self) { task.cancel() }
      }
      task.resume()
    }
  }
}

/// The delegate of a session: passes the pieces of each answer to its stream.
private final class AnswerReceiver: NSObject, URLSessionDataDelegate {
  private let streams = Mutex<[Int: Answer.Continuation]>([:])

  func register(_ stream: Answer.Continuation, for task: Int) {
    streams.withLock { $0[task] = stream }
  }

  private func stream(of task: URLSessionTask) -> Answer.Continuation? {
    streams.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let response = response as? HTTPURLResponse
    stream(of: dataTask)?.yield(
      .head(
        AnswerHead(
          status: response?.statusCode ?? 0,
          contentType: response?.value(forHTTPHeaderField: "Content-Type"),
          target: response?.value(forHTTPHeaderField: "Location"))))
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    stream(of: dataTask)?.yield(.bytes([UInt8](data)))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    let stream = streams.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    stream?.finish(throwing: error)
  }
}
