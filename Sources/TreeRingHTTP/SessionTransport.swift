// Requests over Foundation's URL session, with a delegate that passes on each piece as it comes.
//
// The pieces that wait have no bound. On Linux nothing makes a session wait: a task that is resumed
// begins its request again, and a delegate's queue that blocks holds up every session there is.

internal import Foundation
internal import TreeRingPlatform

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A URL session whose answers are streams.
package final class SessionTransport: HTTPTransport {
  private let receiver = AnswerReceiver()
  private let session: URLSession

  package init() {
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

  package func send(_ request: HTTPRequest) -> AnswerStream {
    var sent = URLRequest(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData)
    sent.httpMethod = request.method
    sent.httpBody = request.body.map { Data($0) }
    sent.timeoutInterval = request.silence / .seconds(1)
    for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
    let task = session.dataTask(with: sent)
    return AnswerStream { continuation in
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
  private let streams = Mutex<[Int: AnswerStream.Continuation]>([:])

  func register(_ stream: AnswerStream.Continuation, for task: Int) {
    streams.withLock { $0[task] = stream }
  }

  private func stream(of task: URLSessionTask) -> AnswerStream.Continuation? {
    streams.withLock { $0[task.taskIdentifier] }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let response = response as? HTTPURLResponse
    var headers: [String: String] = [:]
    for (name, value) in response?.allHeaderFields ?? [:] {
      headers["\(name)".lowercased()] = "\(value)"
    }
    stream(of: dataTask)?.yield(.head(status: response?.statusCode ?? 0, headers: headers))
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
