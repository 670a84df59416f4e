// Opening for reading while a writer is at work: it begins segments, compacts them and removes what
// it has replaced between our listing of the folder and our reading of its files.

extension Recovery {
  private static let attempts = 20

  /// Opens a log. For reading only, starts again whenever the folder has changed meanwhile.
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
