// Files that anybody may read: they hold no data of the store. A path is looked up in a table of
// those that exist, so no path leads anywhere else.

internal import TreeRingLive

/// A file of the server.
struct StaticFile: Sendable {
  let type: String
  let bytes: [UInt8]

  var answer: LiveAnswer { LiveAnswer(contentType: type, body: bytes) }

  /// The files by path.
  static let all: [String: StaticFile] = {
    var files = [
      "/": StaticFile("page.html", PackageResources.page_html),
      "/treering.js": StaticFile("treering.js", PackageResources.treering_js),
      "/v1/openapi.json": StaticFile("openapi.json", LiveService.openAPI),
    ]
    for (name, bytes) in inspector { files["/inspector/\(name)"] = StaticFile(name, bytes) }
    return files
  }()

  private init(_ name: String, _ bytes: [UInt8]) {
    let types = [
      "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
      "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "json": "application/json",
    ]
    type = types[String(name.split(separator: ".").last ?? "")] ?? "application/octet-stream"
    self.bytes = bytes
  }

  /// The modules and style sheets of the inspector.
  private static let inspector: [(name: String, bytes: [UInt8])] = [
    ("address.js", PackageResources.address_js),
    ("api.js", PackageResources.api_js),
    ("base.css", PackageResources.base_css),
    ("buckets-view.js", PackageResources.buckets_view_js),
    ("columns.js", PackageResources.columns_js),
    ("commit-panel.js", PackageResources.commit_panel_js),
    ("compare-view.js", PackageResources.compare_view_js),
    ("dom.js", PackageResources.dom_js),
    ("fields.js", PackageResources.fields_js),
    ("format.js", PackageResources.format_js),
    ("group-window.js", PackageResources.group_window_js),
    ("groups-view.js", PackageResources.groups_view_js),
    ("icon.svg", PackageResources.icon_svg),
    ("index-view.js", PackageResources.index_view_js),
    ("json.js", PackageResources.json_js),
    ("lists.css", PackageResources.lists_css),
    ("log-view.js", PackageResources.log_view_js),
    ("main.js", PackageResources.main_js),
    ("meter.js", PackageResources.meter_js),
    ("moment.js", PackageResources.moment_js),
    ("page.js", PackageResources.page_js),
    ("plot.js", PackageResources.plot_js),
    ("row-panel.js", PackageResources.row_panel_js),
    ("row-window.js", PackageResources.row_window_js),
    ("rows-view.js", PackageResources.rows_view_js),
    ("scaled-scroll.js", PackageResources.scaled_scroll_js),
    ("stats-view.js", PackageResources.stats_view_js),
    ("timeline-scale.js", PackageResources.timeline_scale_js),
    ("timeline.css", PackageResources.timeline_css),
    ("timeline.js", PackageResources.timeline_js),
    ("token.js", PackageResources.token_js),
    ("views.css", PackageResources.views_css),
    ("virtual-list.js", PackageResources.virtual_list_js),
  ]
}
