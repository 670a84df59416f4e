// Opening for reading beside a writer. Between this opening's listing of the folder and its reads,
// the writer may begin segments, compact them and remove the replaced files.

extension Recovery {
  /// The limit of attempts of a reader whose files a writer replaces before they are opened. A
  /// writer that rewrites many small segments may fail dozens of attempts in a row.
  static let attempts = 200

  /// Opens a log. For reading only, retries whenever the folder has changed during the attempt.
  static func run(
    _ directory: String, _ fileSystem: any FileSystem, _ options: LogOptions
  ) throws(TreeRingError) -> RecoveredLog {
    var attempt = 1
    while true {
      let names = options.access == .readOnly ? try? fileSystem.list(directory) : nil
      var recovery = Recovery(directory: directory, fileSystem: fileSystem, options: options)
      do throws(TreeRingError) {
        return try recovery.run()
      } catch {
        guard let names, attempt < attempts, let now = try? fileSystem.list(directory),
          Set(now) != Set(names)
        else { throw error }
        attempt += 1
      }
    }
  }
}
