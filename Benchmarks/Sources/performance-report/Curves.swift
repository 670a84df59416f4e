// Pictures of curves: figures against the number of rows, on two logarithmic scales.

internal import BenchmarkResults
internal import Foundation

private let width = 760.0
private let left = 70.0
private let right = 660.0
private let panelHeight = 220.0

/// The picture of all curves of the lines; nil if no curve has two points.
func curves(of lines: [Line]) -> String? {
  var names: [String] = []
  for line in lines {
    if let curve = line.curve, !names.contains(curve) { names.append(curve) }
  }
  let panels = names.map { name in
    lines.filter { $0.curve == name }.sorted { ($0.rows ?? 0) < ($1.rows ?? 0) }
  }.filter { $0.count > 1 }
  if panels.isEmpty { return nil }
  let engines = engines(of: lines)
  var drawing = Drawing(width: width)
  var y = 12.0
  for panel in panels {
    drawPanel(panel, engines, &drawing, top: y)
    y += panelHeight + 68
  }
  return drawing.svg(height: y, title: "Figures by the number of rows")
}

/// A logarithmic scale from values to pixels, which may descend.
private struct Scale {
  let from: Double
  let to: Double
  let start: Double
  let end: Double

  func place(_ value: Double) -> Double {
    start + (log10(value) - log10(from)) / (log10(to) - log10(from)) * (end - start)
  }
}

private func drawPanel(
  _ lines: [Line], _ engines: [String], _ drawing: inout Drawing, top: Double
) {
  guard let first = lines.first, let last = lines.last, let rows = first.rows,
    let mostRows = last.rows
  else { return }
  let values = lines.flatMap { line in engines.compactMap { line.median($0) } }.filter { $0 > 0 }
  guard let least = values.min(), let most = values.max() else { return }
  drawing.text(first.curve ?? "", x: 12, y: top + 10, "head")
  let better = first.direction == .higher ? "higher is better" : "lower is better"
  drawing.text("\(first.unit), \(better)", x: width - 12, y: top + 10, "quiet", anchor: "end")
  let bottom = top + 24 + panelHeight
  let across = Scale(from: Double(rows), to: Double(mostRows), start: left, end: right)
  let up = Scale(from: least * 0.8, to: most * 1.25, start: bottom, end: top + 24)

  for step in steps(from: up.from, to: up.to) {
    let y = up.place(step)
    drawing.line([(left, y), (right, y)], "grid")
    let label = format(step).replacing(".00", with: "").replacing(".0 ", with: " ")
    drawing.text(label, x: left - 8, y: y + 4, "quiet", anchor: "end")
  }
  for line in lines {
    guard let rows = line.rows else { continue }
    let x = across.place(Double(rows))
    drawing.line([(x, top + 24), (x, bottom)], "grid")
    drawing.text(
      rows.formatted(.number.locale(Locale(identifier: "en"))), x: x, y: bottom + 16,
      "quiet", anchor: "middle")
  }
  drawing.text("rows", x: right + 56, y: bottom + 16, "quiet")

  var ends: [(name: String, style: String, y: Double)] = []
  // The own curve is drawn last, above the others.
  for (number, name) in engines.enumerated().reversed() {
    let style =
      name == EngineName.own
      ? "own" : "curve\((number - 1 + Palette.curveCount) % Palette.curveCount)"
    let points = lines.compactMap { line -> (x: Double, y: Double)? in
      guard let rows = line.rows, let value = line.median(name), value > 0 else { return nil }
      return (across.place(Double(rows)), up.place(value))
    }
    guard let end = points.last else { continue }
    drawing.line(points, style)
    for point in points { drawing.dot(x: point.x, y: point.y, style) }
    ends.append((name, style, end.y))
  }
  var lowest = -Double.infinity
  for end in ends.sorted(by: { $0.y < $1.y }) {
    lowest = max(end.y, lowest + 14)
    drawing.text(end.name, x: right + 10, y: lowest + 4, end.style)
  }
}

/// Round values within bounds: 1, 2 and 5 of each decade.
private func steps(from: Double, to: Double) -> [Double] {
  let decades = Int(floor(log10(from)))...Int(ceil(log10(to)))
  return decades.flatMap { decade in [1.0, 2, 5].map { $0 * pow(10, Double(decade)) } }
    .filter { $0 >= from && $0 <= to }
}
