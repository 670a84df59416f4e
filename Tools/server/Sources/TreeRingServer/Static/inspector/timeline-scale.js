// The scale of the slider: commits from left to right, with the dates that some of them are known
// to have. Everything between two known dates is interpolated.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The units of ticks, coarse to fine: the boundary at or before a date. */
const UNITS = [
  ...[10, 5, 1].map((years) => (date) =>
    new Date(Math.floor(date.getFullYear() / years) * years, 0, 1)),
  ...[6, 3, 1].map((months) => (date) =>
    new Date(date.getFullYear(), Math.floor(date.getMonth() / months) * months, 1)),
  ...[10, 5, 2, 1].map((days) => (date) => new Date(
    date.getFullYear(), date.getMonth(), 1 + Math.floor((date.getDate() - 1) / days) * days)),
  ...[12, 6, 3, 1].map((hours) => (date) => new Date(
    date.getFullYear(), date.getMonth(), date.getDate(),
    Math.floor(date.getHours() / hours) * hours)),
  ...[900, 300, 60, 10, 1].map((seconds) => (date) =>
    new Date(Math.floor(date.getTime() / 1000 / seconds) * seconds * 1000)),
];

/** Commits with their dates, ascending: [{commit, time}], times in milliseconds. */
export class TimelineScale {
  constructor(samples) {
    this.samples = samples;
  }

  get first() {
    return this.samples[0];
  }

  get last() {
    return this.samples.at(-1);
  }

  /** The part of the way from the first commit to the last, 0 to 1. */
  part(commit) {
    const length = this.last.commit - this.first.commit;
    return length > 0 ? (commit - this.first.commit) / length : 1;
  }

  /** The time of a commit; NaN without samples. */
  time(commit) {
    return this.between("commit", "time", commit);
  }

  /** The commit at a time, with a fraction. */
  commit(time) {
    return this.between("time", "commit", time);
  }

  between(from, to, value) {
    const { samples } = this;
    if (samples.length === 0) return NaN;
    let low = 0;
    let high = samples.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (samples[middle][from] < value) low = middle + 1;
      else high = middle;
    }
    const after = samples[low];
    const before = samples[Math.max(0, low - 1)];
    const length = after[from] - before[from];
    if (length <= 0 || value >= after[from]) return after[to];
    const part = Math.max(0, (value - before[from]) / length);
    return before[to] + part * (after[to] - before[to]);
  }

  /** Commits a second between the samples, as [part from, part to, rate]. */
  rates() {
    const found = [];
    for (let index = 1; index < this.samples.length; index++) {
      const [before, after] = [this.samples[index - 1], this.samples[index]];
      const seconds = Math.max(0.001, (after.time - before.time) / 1000);
      found.push([
        this.part(before.commit), this.part(after.commit), (after.commit - before.commit) / seconds,
      ]);
    }
    return found;
  }

  /**
   * Ticks at round dates, at most as many as fit: [{part, text, isMajor}]. The finest unit whose
   * boundaries have room is taken. Between two samples lies one tick at most, so that a pause of
   * years among commits of a day takes no more than its place.
   */
  ticks(most) {
    let ticks = [];
    for (const unit of UNITS) {
      const finer = this.boundaries(unit);
      if (finer.length > most) break;
      if (finer.length > ticks.length) ticks = finer;
    }
    // Boundaries too near to the one before are left out, minor ones first.
    const shown = [];
    for (const tick of ticks) {
      const last = shown.at(-1);
      if (last && tick.part - last.part < 0.8 / most) {
        if (!tick.isMajor || last.isMajor) continue;
        shown.pop();
      }
      shown.push(tick);
    }
    // A year that begins without a tick of its own is named at its first one.
    shown.forEach((tick, index) => {
      const isNewYear = index > 0 && tick.year !== shown[index - 1].year;
      if (isNewYear && tick.text !== `${tick.year}`) tick.text += ` ${tick.year}`;
    });
    return shown;
  }

  /** The boundaries of a unit. */
  boundaries(unit) {
    const found = [];
    for (let index = 1; index < this.samples.length; index++) {
      const [before, after] = [this.samples[index - 1], this.samples[index]];
      const boundary = unit(new Date(after.time)).getTime();
      if (boundary <= before.time) continue;
      found.push({
        part: this.part(this.commit(boundary)), ...label(new Date(boundary)),
        year: new Date(boundary).getFullYear(),
      });
    }
    return found;
  }
}

/** The text of a date, by the largest unit that begins with it. */
function label(date) {
  const digits = (number) => String(number).padStart(2, "0");
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  if (hours > 0 || minutes > 0 || seconds > 0) {
    const clock = `${digits(hours)}:${digits(minutes)}`;
    return { text: seconds > 0 ? `${clock}:${digits(seconds)}` : clock, isMajor: false };
  }
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]}`;
  if (date.getDate() > 1) return { text: day, isMajor: true };
  if (date.getMonth() > 0) return { text: MONTHS[date.getMonth()], isMajor: true };
  return { text: `${date.getFullYear()}`, isMajor: true };
}
