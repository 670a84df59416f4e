// The messages of some chats as a list in SwiftUI, kept current. Without SwiftUI, declarations of
// its names stand in, so that the view is compiled and its body is read.

// snippet.show
import TreeRing
import TreeRingMappings

#if canImport(SwiftUI)
  import SwiftUI
#else
  @MainActor protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
  }
  @resultBuilder enum ViewBuilder {
    static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  }
  struct Shown: View { var body: Shown { self } }
  struct List: View {
    init(@ViewBuilder _ content: () -> some View) { _ = content() }
    var body: Shown { Shown() }
  }
  struct ForEach: View {
    init<Elements: Sequence, ID: Hashable>(
      _ elements: Elements, id: KeyPath<Elements.Element, ID>,
      @ViewBuilder _ content: (Elements.Element) -> some View
    ) {
      for element in elements { _ = content(element) }
    }
    var body: Shown { Shown() }
  }
  struct Section: View {
    init(_ title: String, @ViewBuilder _ content: () -> some View) {
      print("#", title)
      _ = content()
    }
    var body: Shown { Shown() }
  }
  struct Text: View {
    init(_ text: String) { print(text) }
    var body: Shown { Shown() }
  }
  extension View {
    func task(_ action: @escaping @Sendable () async -> Void) -> some View { self }
  }
  @propertyWrapper struct State<Value> { var wrappedValue: Value }
#endif

struct Message: Codable { var chat: String, text: String, sent: Int }

let messages = Bucket<Message>("messages")
let byChat = GroupIndex("chats", on: messages, version: 1) { message in
  Place(in: message.chat, by: .ascending(message.sent))
}

struct ChatList: View {
  let store: Store
  @State var rows: ObservedRows

  init(_ chats: [GroupName], in store: Store) {
    self.store = store
    let mappings = Mappings(of: "chats", groups: chats)
      .range(.flexible(length: 50, pin: .end)).hidingEmptySections()
    _rows = State(wrappedValue: ObservedRows(mappings, in: store))
  }

  var body: some View {
    List {
      ForEach(rows.shown.sections, id: \.group) { section in
        Section(section.group.description) {
          ForEach(section, id: \.self) { row in
            Text((try? store.snapshot().get(row.key, in: messages))?.text ?? "")
          }
        }
      }
    }
    .task { try? await rows.follow() }
  }
}
// snippet.hide
let store = try Store.inMemory(indexes: [byChat])
try store.write { tx in
  try tx.put(Message(chat: "tea", text: "Green?", sent: 1), for: "1", in: messages)
}
let list = ChatList(["tea", "rain"], in: store)
let following = Task { try await list.rows.follow() }
while list.rows.shown.rowCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
_ = list.body
following.cancel()
