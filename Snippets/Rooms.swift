// Messages of a Firebase Realtime Database, newest first to load; see docs/firebase.md. Here a
// transport with stored answers stands in for the server.

// snippet.show
import Foundation
import TreeRingCollections
import TreeRingFirebase

struct Message: ValueModel {
  struct Content: Codable { var text: String, sent: Double }
  var identifier: String
  var content: Content
}

// snippet.hide
/// Answers pages with one message, and streams with two.
struct StoredAnswers: FirebaseTransport {
  func send(_ request: FirebaseRequest) -> AsyncThrowingStream<FirebaseAnswer, any Error> {
    let type = request.headers["Accept"] ?? ""
    let new = #"{"-Kb": {"text": "Good morning", "sent": 2}}"#
    let all = #"{"-Ka": {"text": "Hello", "sent": 1}, "-Kb": {"text": "Good morning", "sent": 2}}"#
    let isStream = type == "text/event-stream"
    let event = "event: put\ndata: {\"path\": \"/\", \"data\": \(all)}\n\n"
    return AsyncThrowingStream { answer in
      answer.yield(.head(status: 200, headers: ["content-type": type]))
      answer.yield(.bytes(Array((isStream ? event : new).utf8)))
      if !isStream { answer.finish() }
    }
  }
}

/// Stands in for the app's sign-in.
func signIn() async throws -> String { "token" }

// snippet.show
guard let chat = URL(string: "https://example.firebaseio.com/rooms/1/messages") else { exit(1) }
var options = FirebaseOptions { request in
  print("A token is needed:", request)  // first, rejected or revoked
  return .idToken(try await signIn())
}
// snippet.hide
options.transport = StoredAnswers()
// snippet.show
let byDate = FirebaseQuery(.child("sent"))
let messages = LiveCollection(
  source: try FirebaseSource(chat, query: byDate, options: options),
  options: CollectionOptions(order: .source, mode: .paged(batchSize: 20))
) { child in
  Message(identifier: child.key.text, content: try child.node.decode())
}

let newest = await messages.load(.backward)  // the newest twenty, live from now on
if let error = newest.error { throw error }
for await change in messages.changes {  // the models shown, then their changes
  for message in change.added { print(message.content.text) }
  // snippet.hide
  if messages.count == 2 { break }
  // snippet.show
}
// snippet.hide

let tallest = FirebaseQuery(.child("height")).starting(at: 10).limited(toLast: 3)
precondition(tallest.limit == .last(3))

let source = try FirebaseSource(chat, options: options)
for try await event in source.childEvents {
  if case .added(let child, let previous) = event {
    print(child.key, "after", previous?.text ?? "nothing")
  }
  if case .added(_, .some) = event { break }
}
