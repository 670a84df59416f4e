// Dates, UUIDs, data and coders of JSON, for all modules that need them. On Linux they come from
// the part of Foundation without ICU and the network: 10 MB of shared libraries instead of 64.

#if canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif
