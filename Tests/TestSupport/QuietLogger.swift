// Tests break stores on purpose; what the engine reports then would only hide real failures.

package import Logging

/// A logger that says nothing.
package let quietLogger = Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
