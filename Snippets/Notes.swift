// The storage layer of an app for notes: typed rows, folders, versions, undo.
// snippet.show
import Foundation
import TreeRing

struct Note: Codable, Sendable {
  var folder: String
  var title: String
  var text = ""
  var edited: Date
}

struct Notebook {
  private static let notes = Bucket<Note>("notes")
  private static let byFolder = GroupIndex("folders", on: notes, version: 1) { note in
    Place(in: note.folder, by: .descending(note.edited))
  }
  private let store: Store

  init(at path: String) throws { store = try Store(at: path, indexes: [Self.byFolder]) }

  /// Saves a note; its earlier versions stay in history.
  func save(_ note: Note, as id: String) async throws {
    try await store.write { tx in try tx.put(note, for: Key(id), in: Self.notes) }
  }

  func delete(_ id: String) async throws {
    try await store.write { tx in _ = try tx.delete(Key(id), in: Self.notes) }
  }

  func note(_ id: String) throws -> Note? { try store.snapshot().get(Key(id), in: Self.notes) }

  var folders: [String] {
    get throws { try store.snapshot().index("folders").groups().map(\.description) }
  }

  /// The notes of a folder, the last edited first.
  func notes(in folder: String) throws -> [Note] {
    let index = try store.snapshot().index("folders")
    return try index.rows(in: GroupName(folder)).map(Self.notes.decode)
  }

  /// Every version of a note, the newest first; nil where it was deleted.
  func versions(of id: String) throws -> [Note?] {
    try store.history(of: Key(id), in: Self.notes).map(Self.notes.decode)
  }

  /// Restores the newest version of a note.
  func undelete(_ id: String) async throws {
    guard let last = try versions(of: id).compactMap(\.self).first else { return }
    try await save(last, as: id)
  }
}
// snippet.hide
let notebook = try Notebook(at: "notes.ring")
try await notebook.save(
  Note(folder: "home", title: "Milk", edited: Date(timeIntervalSince1970: 1)), as: "milk")
try await notebook.save(
  Note(folder: "work", title: "Report", edited: Date(timeIntervalSince1970: 2)), as: "report")
try await notebook.save(
  Note(folder: "home", title: "Oat milk", edited: Date(timeIntervalSince1970: 3)), as: "milk")
try await notebook.save(
  Note(folder: "home", title: "Bread", edited: Date(timeIntervalSince1970: 4)), as: "bread")
try await notebook.delete("milk")
print(try notebook.folders, try notebook.notes(in: "home").map(\.title))
try await notebook.undelete("milk")
print(try notebook.versions(of: "milk").map { $0?.title ?? "deleted" })
let titles = try notebook.notes(in: "home").map(\.title)
precondition(titles == ["Bread", "Oat milk"])
let milk = try notebook.note("milk")
precondition(milk?.title == "Oat milk")
