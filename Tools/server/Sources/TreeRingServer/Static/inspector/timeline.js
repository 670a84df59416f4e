// The slider over commits, which moves every list of the page: with dates, tags and the pace of
// the commits; freezing, following, stepping and playing.

import { h, s, setText, onceAFrame, throttled } from "./dom.js";
import { TimelineScale } from "./timeline-scale.js";
import * as format from "./format.js";

const SAMPLES = 240;
const SPEEDS = [["20/s", 20], ["200/s", 200], ["1 min", null]];

/** The slider and its buttons. */
export class Timeline {
  constructor(element, page) {
    this.page = page;
    this.scale = new TimelineScale([]);
    this.follow = h("button", {
      type: "button", class: "follow", "aria-label": "Live: follow the newest commit",
      onclick: () => this.toggle(),
    }, h("span", { class: "lamp", "aria-hidden": "true" }), h("span", {}, "Live"));
    this.play = this.button("▶", "Play the history", () => this.togglePlay());
    this.speed = h("select", {
      "aria-label": "Commits a second, or the rest of the history in a minute",
      title: "Commits a second, or the rest of the history in a minute",
    },
      SPEEDS.map(([text], index) => h("option", { value: index, selected: index === 1 }, text)));
    this.date = h("span", { class: "date", "data-part": "date" });
    this.commit = h("span", { class: "count", "data-part": "commit" });
    this.jump = h("input", {
      type: "text", size: 18, placeholder: "commit, date, tag:NAME, -K",
      "aria-label": "Go to a commit, a date, a tag, or some commits back", spellcheck: "false",
    });
    this.link = this.button("Link", "Copy a link to this moment", () => this.copyLink(), "quiet");
    this.slider = h("input", {
      type: "range", min: 1, max: 1, step: 1, "aria-label": "Commit shown",
      oninput: () => this.slid(),
    });
    this.plot = s("svg", { class: "pace", "aria-hidden": "true", preserveAspectRatio: "none" });
    this.ticks = h("div", { class: "ticks", "aria-hidden": "true" });
    this.tags = h("div", { class: "tags" });
    element.append(
      h("div", { class: "controls" }, this.follow,
        h("div", { class: "buttons" },
          this.button("−1", "One commit back", () => this.step(-1)), this.play,
          this.button("+1", "One commit on", () => this.step(1)), this.speed),
        h("p", { class: "readout" }, this.date, this.commit),
        h("form", {
          class: "jump", onsubmit: (event) => {
            event.preventDefault();
            this.go(this.jump.value.trim());
          },
        }, this.jump, this.link)),
      h("div", { class: "track" }, this.plot, this.tags, this.slider, this.ticks));
    this.draw = onceAFrame(() => this.drawNow());
    this.refresh = throttled(2000, () => this.sample());
    this.readDate = throttled(400, () => this.fetchDate());
    page.moment.listen(() => {
      if (page.moment.newest > (this.scale.last?.commit ?? 0)) this.refresh();
      this.draw();
    });
    new ResizeObserver(() => this.drawScale()).observe(element);
  }

  button(text, label, action, name = "") {
    return h("button", {
      type: "button", class: name, "aria-label": label, title: label, onclick: action,
    }, text);
  }

  // MARK: The reader

  toggle() {
    const { moment } = this.page;
    this.stopPlaying();
    if (moment.isLive) moment.seek(moment.newest);
    else moment.follow();
  }

  slid() {
    const { moment } = this.page;
    this.stopPlaying();
    const target = Number(this.slider.value);
    if (target >= moment.newest) moment.follow();
    else moment.seek(target);
  }

  step(by) {
    const { moment } = this.page;
    this.stopPlaying();
    moment.seek(moment.shown + by);
  }

  /** Goes to a moment that the reader wrote. */
  async go(text) {
    if (!text) return;
    try {
      const { commits } = await this.page.api.get("/v1/commits", { from: text, limit: 1 });
      if (commits.length === 0) throw new Error(`There is no commit at “${text}”.`);
      this.jump.setCustomValidity("");
      this.page.moment.seek(commits[0].commit);
    } catch (error) {
      this.jump.setCustomValidity(error.message);
      this.jump.reportValidity();
      this.jump.addEventListener("input", () => this.jump.setCustomValidity(""), { once: true });
    }
  }

  async copyLink() {
    const { address, moment } = this.page;
    const text = `${location.origin}${location.pathname}#${address.text({ at: moment.shown })}`;
    try {
      await navigator.clipboard.writeText(text);
      this.page.say("The link to this moment is copied.");
    } catch {
      this.page.say(text);
    }
  }

  togglePlay() {
    if (this.playing) return this.stopPlaying();
    const { moment } = this.page;
    const pace = SPEEDS[Number(this.speed.value)][1] ?? (moment.newest - moment.horizon) / 60;
    if (moment.shown >= moment.newest) moment.seek(moment.horizon);
    let place = moment.shown;
    let before = performance.now();
    setText(this.play, "❚❚");
    this.play.setAttribute("aria-label", "Pause");
    const frame = (now) => {
      place += (pace * Math.min(now - before, 100)) / 1000;
      before = now;
      if (place >= moment.newest) {
        this.stopPlaying();
        return moment.follow();
      }
      if (Math.floor(place) !== moment.shown) moment.seek(Math.floor(place));
      this.playing = requestAnimationFrame(frame);
      return undefined;
    };
    this.playing = requestAnimationFrame(frame);
    return undefined;
  }

  stopPlaying() {
    cancelAnimationFrame(this.playing);
    this.playing = null;
    setText(this.play, "▶");
    this.play.setAttribute("aria-label", "Play the history");
  }

  // MARK: Dates

  /** Reads the dates of commits in equal distances. */
  async sample() {
    const { api, moment } = this.page;
    const [from, to] = [moment.horizon, moment.newest];
    if (to < from) return;
    try {
      const step = Math.max(1, Math.ceil((to - from) / SAMPLES));
      const answer = await api.get("/v1/commits", { from, to, step, limit: SAMPLES + 2 });
      const samples = answer.commits.map(({ commit, at }) => ({ commit, time: Date.parse(at) }));
      if (samples.length > 0 && samples.at(-1).commit < to) {
        const last = await api.get("/v1/commits", { from: to, to, limit: 1 });
        if (last.commits[0]) samples.push({ commit: to, time: Date.parse(last.commits[0].at) });
      }
      this.scale = new TimelineScale(samples);
      this.drawScale();
      this.draw();
    } catch (error) {
      // A token with limits may not read the log; the slider then has no dates.
      if (error.status !== 403) this.page.fail(error);
    }
  }

  async fetchDate() {
    const commit = this.page.moment.shown;
    if (this.known?.commit === commit) return;
    try {
      const only = { from: commit, to: commit, limit: 1 };
      const { commits } = await this.page.api.get("/v1/commits", only);
      if (commits.length > 0) this.known = { commit, time: Date.parse(commits[0].at) };
      this.draw();
    } catch {
      this.known = { commit, time: this.scale.time(commit) };
    }
  }

  // MARK: Drawing

  drawNow() {
    const { moment } = this.page;
    this.slider.min = moment.horizon;
    this.slider.max = Math.max(moment.newest, moment.horizon);
    this.slider.value = moment.shown;
    document.body.classList.toggle("moving", !moment.isSettled);
    this.follow.setAttribute("aria-pressed", moment.isLive);
    setText(this.follow.lastChild, moment.isLive ? "Live" : "Frozen");
    this.follow.title = moment.isLive ? "Freeze this moment" : "Follow the newest commit";
    const isExact = this.known?.commit === moment.shown;
    const time = isExact ? this.known.time : this.scale.time(moment.shown);
    setText(this.date, Number.isNaN(time) ? "" : format.moment(time));
    if (!isExact) this.readDate();
    setText(this.commit, `commit ${format.count(moment.shown)}`
      + (moment.isLive ? "" : ` of ${format.count(moment.newest)}`));
    this.slider.setAttribute("aria-valuetext",
      `commit ${moment.shown}${Number.isNaN(time) ? "" : `, ${format.moment(time)}`}`);
    const part = this.scale.last ? this.scale.part(moment.shown) : 1;
    this.slider.style.setProperty("--part", `${Math.min(1, part) * 100}%`);
    this.page.address.set({ at: moment.at });
  }

  drawScale() {
    if (this.scale.samples.length === 0) return;
    const width = this.ticks.clientWidth;
    this.ticks.replaceChildren(...this.scale.ticks(Math.max(3, Math.floor(width / 74)))
      .map(({ part, text, isMajor }) => {
        const name = `tick${isMajor ? " major" : ""}${part > 0.95 ? " end" : ""}`;
        const tick = h("span", { class: name }, text);
        tick.style.left = `${part * 100}%`;
        return tick;
      }));
    const rates = this.scale.rates();
    // Logarithms, because a burst may be a thousand times the usual pace.
    const logarithms = rates.map(([, , rate]) => Math.log(rate));
    const ordered = [...logarithms].sort((a, b) => a - b);
    const least = ordered[Math.floor(ordered.length * 0.02)] ?? 0;
    const span = Math.max((ordered[Math.floor(ordered.length * 0.98)] ?? 0) - least, Math.LN2);
    const points = rates.map(([from, to], index) => {
      const part = Math.min(1, Math.max(0, (logarithms[index] - least) / span));
      const y = (14 - 13 * part).toFixed(2);
      return `${(from * 1000).toFixed(1)},${y} ${(to * 1000).toFixed(1)},${y}`;
    });
    this.plot.setAttribute("viewBox", "0 0 1000 20");
    this.plot.replaceChildren(s("polygon", { points: `0,20 ${points.join(" ")} 1000,20` }));
    this.drawTags();
  }

  drawTags() {
    const { moment, store } = this.page;
    const tags = [...(store?.tags ?? [])].sort((a, b) => a.commit - b.commit).slice(-200);
    const place = ({ commit }) => this.scale.part(commit) * this.tags.clientWidth;
    this.tags.replaceChildren(...tags.map((one, index) => {
      const { tag, commit } = one;
      // Names that would lie on each other are left to the tooltip.
      const room = index + 1 < tags.length ? place(tags[index + 1]) - place(one) : Infinity;
      const mark = h("button", {
        type: "button", class: "tag", title: `${tag} (commit ${format.count(commit)})`,
        "aria-label": `Tag ${tag}`, onclick: () => moment.seek(commit),
      }, h("span", { hidden: room < 80 }, tag));
      mark.style.left = `${this.scale.part(commit) * 100}%`;
      return mark;
    }));
  }
}
