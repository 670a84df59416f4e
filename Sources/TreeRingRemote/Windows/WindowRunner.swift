// Keeps a window connected: one request after the other, with waits after failures.

internal import TreeRingHTTP

/// The loop of a window's requests.
struct WindowRunner: Sendable {
  let core: WindowCore
  let address: LiveAddress
  let options: RemoteOptions

  /// The end of a request.
  private enum End {
    /// Another request is wanted at once.
    case again
    case failed(FailedRequest)
    case broken(RemoteError)
  }

  /// Runs until the window is closed.
  func run() async {
    let request = WindowConnection(
      url: address.url, options: options,
      transport: options.transport ?? StandardTransport(limit: options.largestMessage))
    let backoff = Backoff(first: options.firstDelay, longest: options.longestDelay)
    var failures = 0
    var renewals = 0
    var token = address.token
    var reason = RemoteTokenRequest.first
    var needsToken = options.token != nil
    while let (body, turn) = core.begin() {
      if needsToken {
        do {
          token = try await options.token?(reason)
        } catch {
          return core.close(
            RemoteError(.tokenRefused, "There is no token for the server: \(error)"))
        }
        needsToken = false
      }
      let wasAnswered = Flag()
      let end = await perform(request, body, turn, token, wasAnswered)
      if wasAnswered.isSet { (failures, renewals) = (0, 0) }
      switch end {
      case .again: continue
      case .broken(let error): return core.close(error)
      case .failed(let failure):
        switch failure.remedy {
        case .none: return core.close(failure.error)
        case .renewToken:
          renewals += 1
          // A refused token is renewed once: the next one is refused for another reason.
          if options.token == nil || renewals > 1 { return core.close(failure.error) }
          (needsToken, reason) = (true, .refused)
        case .wait:
          failures += 1
          if let most = options.attempts, failures >= most { return core.close(failure.error) }
          core.set(.waiting(failure.error))
          let delay = backoff.delay(afterFailures: failures, jitter: .random(in: 0...1))
          let clock = options.clock
          let wait = Task { try? await clock.sleep(for: delay) } as Task<Void?, Never>
          await hold(wait, turn)
        }
      }
    }
  }

  private func hold(_ wait: Task<Void?, Never>, _ turn: Int) async {
    let work = Task {
      await withTaskCancellationHandler {
        _ = await wait.value
      } onCancel: {
        wait.cancel()
      }
    }
    core.hold(work, turn: turn)
    await work.value
  }

  private func perform(
    _ request: WindowConnection, _ body: [UInt8], _ turn: Int, _ token: String?, _ wasAnswered: Flag
  ) async -> End {
    let result = Task { () -> End in
      do {
        try await request.run(body, token: token) { message in
          let goesOn = try core.take(message, turn: turn)
          wasAnswered.set()
          return goesOn
        }
        return .again
      } catch let failure as FailedRequest {
        return Task.isCancelled ? .again : .failed(failure)
      } catch let error as RemoteError {
        return .broken(error)
      } catch {
        return .again
      }
    }
    let work = Task {
      await withTaskCancellationHandler {
        _ = await result.value
      } onCancel: {
        result.cancel()
      }
    }
    core.hold(work, turn: turn)
    return await result.value
  }
}
