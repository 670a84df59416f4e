// The elements of pictures (SVG) and their colours, for light and for dark pages.

internal import Foundation

/// A picture under construction. Coordinates are pixels from the top left.
struct Drawing {
  let width: Double
  private var body = ""

  init(width: Double) { self.width = width }

  mutating func text(
    _ text: String, x: Double, y: Double, _ style: String = "", anchor: String = "start"
  ) {
    body += """
      <text x="\(number(x))" y="\(number(y))" class="\(style)" text-anchor="\(anchor)">\
      \(escape(text))</text>

      """
  }

  mutating func rectangle(
    x: Double, y: Double, width: Double, height: Double, _ style: String
  ) {
    body += """
      <rect x="\(number(x))" y="\(number(y))" width="\(number(width))" \
      height="\(number(height))" class="\(style)"/>

      """
  }

  mutating func line(_ points: [(x: Double, y: Double)], _ style: String) {
    let text = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
    body += "<polyline points=\"\(text)\" class=\"\(style)\"/>\n"
  }

  mutating func dot(x: Double, y: Double, _ style: String) {
    body += "<circle cx=\"\(number(x))\" cy=\"\(number(y))\" r=\"3\" class=\"\(style)\"/>\n"
  }

  /// The finished picture.
  func svg(height: Double, title: String) -> String {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" \
    width="\(number(width))" height="\(number(height))" role="img">
    <title>\(escape(title))</title>
    <style>
    text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
    .head { font-weight: 600 }
    polyline { fill: none; stroke-width: 1.5 }
    .own { fill: \(Palette.own.light) } polyline.own { fill: none; stroke: \(Palette.own.light) }
    \(Palette.rules { $0.light })
    @media (prefers-color-scheme: dark) {
    .own { fill: \(Palette.own.dark) } polyline.own { fill: none; stroke: \(Palette.own.dark) }
    \(Palette.rules { $0.dark })
    }
    polyline.own { stroke-width: 3 }
    </style>
    <rect width="100%" height="100%" class="page"/>
    \(body)</svg>

    """
  }

  private func number(_ value: Double) -> String {
    let text = String(format: "%.1f", value)
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private func escape(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}

/// The colours of pictures.
enum Palette {
  typealias Color = (light: String, dark: String)
  static let own: Color = ("#0b62d6", "#5aa2ff")
  private static let fills: [(style: String, color: Color)] = [
    ("page", ("#ffffff", "#0d1117")), ("head", ("#1b1f24", "#e6edf3")),
    ("label", ("#1b1f24", "#e6edf3")), ("quiet", ("#59636e", "#9198a1")),
    ("peer", ("#b6bec8", "#4b535d")), ("best", ("#c77700", "#e3a008")),
  ]
  private static let strokes: [(style: String, color: Color)] = [
    ("grid", ("#dfe3e8", "#2a313a")), ("spread", ("#1b1f24", "#e6edf3")),
  ]
  /// The colours of the peers' curves; those of a deficiency of colour vision tell them apart by
  /// the labels at their ends.
  private static let curves: [Color] = [
    ("#c2410c", "#ff9d5c"), ("#15803d", "#5fd38a"), ("#7c3aed", "#b79bff"),
    ("#a16207", "#e0bd4a"), ("#be185d", "#ff8cc0"), ("#4b5563", "#a9b4c0"),
  ]
  static var curveCount: Int { curves.count }

  /// The rules of a style sheet.
  static func rules(_ pick: (Color) -> String) -> String {
    var rules = fills.map { ".\($0.style) { fill: \(pick($0.color)) }" }
    rules += strokes.map { ".\($0.style) { stroke: \(pick($0.color)) }" }
    for (number, color) in curves.enumerated() {
      rules.append(
        ".curve\(number) { fill: \(pick(color)) } "
          + "polyline.curve\(number) { fill: none; stroke: \(pick(color)) }")
    }
    return rules.joined(separator: "\n")
  }
}
