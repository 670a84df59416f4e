// Pictures of bars: each line has a scale of its own, a bar for each engine, and the spread of its
// samples. The best peer has a colour and a word of its own.

internal import BenchmarkResults

private let width = 760.0
private let barStart = 90.0
private let barEnd = 620.0
private let barHeight = 15.0

/// The picture of the lines that at least two engines have; nil if there are none.
func bars(of lines: [Line]) -> String? {
  let lines = lines.filter { engines(of: [$0]).filter($0.samples.keys.contains).count > 1 }
  if lines.isEmpty { return nil }
  var drawing = Drawing(width: width)
  var y = 12.0
  for line in lines { draw(line, &drawing, &y) }
  drawing.text(
    "Medians; thin lines: the samples but the outer tenths. Each line has its own scale.", x: 12,
    y: y + 8, "quiet")
  return drawing.svg(height: y + 20, title: "Figures by engine")
}

private func draw(_ line: Line, _ drawing: inout Drawing, _ y: inout Double) {
  drawing.text(line.name, x: 12, y: y + 10, "head")
  let better = line.direction == .higher ? "longer is better" : "shorter is better"
  drawing.text("\(line.unit), \(better)", x: width - 12, y: y + 10, "quiet", anchor: "end")
  y += 20
  let names = engines(of: [line])
  let medians = names.compactMap { line.median($0) }
  guard let most = medians.max(), most > 0 else { return }
  let ends = names.compactMap { spread(of: line, $0)?.upperBound }
  let greatest = min(ends.max() ?? most, 1.5 * most)
  let scale = (barEnd - barStart) / greatest
  for name in names {
    let isBest = line.bestPeer?.name == name
    drawing.text(name, x: barStart - 8, y: y + 12, "label", anchor: "end")
    if let median = line.median(name) {
      let length = max(1, median * scale)
      let style = name == EngineName.own ? "own" : isBest ? "best" : "peer"
      drawing.rectangle(x: barStart, y: y + 1, width: length, height: barHeight - 2, style)
      let spread = spread(of: line, name) ?? median...median
      let least = spread.lowerBound * scale
      let most = min(spread.upperBound * scale, barEnd - barStart)
      if most - least > 1 {
        let middle = y + barHeight / 2
        drawing.line([(barStart + least, middle), (barStart + most, middle)], "spread")
      }
      let label = format(median) + (isBest ? "  best peer" : "")
      drawing.text(label, x: barStart + max(length, most) + 6, y: y + 12, "label")
    } else {
      drawing.text("failed", x: barStart + 6, y: y + 12, "quiet")
    }
    y += barHeight
  }
  y += 16
}

/// The range of an engine's samples without the outer tenths; nil if there are none.
private func spread(of line: Line, _ engine: String) -> ClosedRange<Double>? {
  let samples = (line.samples[engine] ?? []).sorted()
  let inner = samples.dropFirst(samples.count / 10).dropLast(samples.count / 10)
  guard let least = inner.first, let most = inner.last else { return nil }
  return least...most
}
