// The change applied last: how many rows came, went, moved and changed, and the time it took.

import { h, setText, throttled } from "./dom.js";
import * as format from "./format.js";

/** The parts of a change as numbers. */
export function tally(change) {
  if (change.kind !== "change") return { whole: change.added.length };
  const sections = change.placedSections.filter((section) => section.isNew);
  const came = change.placed.filter((row) => row.isNew).length
    + sections.reduce((sum, { section }) => sum + section.rows.length, 0);
  return {
    came,
    moved: change.placed.filter((row) => !row.isNew).length,
    gone: change.removed.length
      + change.removedSections.reduce((sum, section) => sum + section.rows.length, 0),
    changed: change.updated.filter((row) => row.parts.includes("object")).length,
  };
}

/** A tally as a sentence: "3 in, 1 moved". */
export function sentence(parts) {
  if ("whole" in parts) return `${format.counted(parts.whole, "row")} shown anew`;
  const words = [
    [parts.came, "in"], [parts.gone, "out"], [parts.moved, "moved"], [parts.changed, "changed"],
  ].filter(([number]) => number > 0).map(([number, word]) => `${format.count(number)} ${word}`);
  return words.length > 0 ? words.join(", ") : "nothing shown changed";
}

/** The line at the bottom of the page. */
export class Meter {
  constructor(element) {
    this.commit = h("span", { class: "meter-commit" }, "No change yet");
    this.parts = h("strong", { "data-part": "parts" });
    this.time = h("span", {
      class: "meter-time", title: "Applying the change to the page's lists",
    });
    this.rate = h("span", { class: "meter-rate" });
    element.append(this.commit, this.parts, this.time, this.rate);
    this.times = [];
    this.draw = throttled(100, () => this.drawNow());
    setInterval(() => this.drawRate(), 500);
  }

  /** Shows a change of a window. */
  show(change, window) {
    this.change = change;
    this.window = { commit: window.commit, at: window.at };
    this.times.push(performance.now());
    if (this.times.length > 4000) this.times.splice(0, 2000);
    this.draw();
  }

  drawNow() {
    const { change } = this;
    const { commit, at } = this.window;
    const leads = change.kind === "change" && change.from !== commit;
    const from = leads ? `${format.count(change.from)} → ` : "";
    setText(this.commit, `Commit ${from}${format.count(commit)}`);
    this.commit.title = at ?? "";
    setText(this.parts, sentence(tally(change)));
    setText(this.time, format.milliseconds(change.milliseconds));
  }

  drawRate() {
    const now = performance.now();
    while (this.times.length > 0 && now - this.times[0] > 1000) this.times.shift();
    setText(this.rate, this.times.length > 2 ? `${format.count(this.times.length)} changes/s` : "");
  }
}
