// Small plots: a line of the last minutes, and a bar of parts.

import { h, s } from "./dom.js";

const WIDTH = 240;
const HEIGHT = 48;

/** A line of values over time, with the latest one marked. */
export function line(values, label) {
  const most = Math.max(...values, 1e-9);
  const least = Math.min(0, ...values);
  const x = (index) => (values.length > 1 ? (index / (values.length - 1)) * (WIDTH - 6) + 2 : 2);
  const y = (value) => HEIGHT - 4 - ((value - least) / (most - least || 1)) * (HEIGHT - 10);
  const points = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  const end = x(values.length - 1).toFixed(1);
  return s("svg", {
    class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label,
    preserveAspectRatio: "none",
  },
  s("polygon", { points: `2,${HEIGHT} ${points.join(" ")} ${end},${HEIGHT}` }),
  s("polyline", { points: points.join(" ") }));
}

/** Parts of a whole beside each other: [[name, value]…]. */
export function bar(parts, text) {
  const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
  const strip = h("div", { class: "strip", "aria-hidden": "true" });
  parts.forEach(([, value], index) => {
    const part = h("span", { class: `part-${index % 5}` });
    part.style.width = `${(value / whole) * 100}%`;
    strip.append(part);
  });
  return h("div", { class: "stacked" }, strip, h("ul", {}, parts.map(([name, value], index) =>
    h("li", {}, h("span", { class: `swatch part-${index % 5}`, "aria-hidden": "true" }),
      h("span", {}, name), h("span", { class: "count" }, text(value))))));
}
