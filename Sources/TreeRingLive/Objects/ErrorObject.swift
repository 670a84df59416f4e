// An error as JSON: {"error":{"code":CODE,"message":SENTENCE}}.

package import TreeRingLog

/// The JSON of errors.
package enum ErrorObject {
  /// The value of the member `error`. It names no file of the server's.
  package static func value(_ error: TreeRingError) -> String {
    value(code: error.code.description, message: error.message)
  }

  /// The value of the member `error`.
  package static func value(code: String, message: String) -> String {
    "{\"code\":\(JSONText.quoted(code)),\"message\":\(JSONText.quoted(message))}"
  }
}
