// The rows of one group by rank: a live window that shows the ranks in view and some around them.
// It asks for another range when the view leaves that one, and never has two questions under way.

import { keyID, rowID } from "/treering.js";

const LEAST = 120;

/** A live window of a group, read by rank. */
export class RowWindow {
  /**
   * @param {LiveConnection} connection
   * @param {Moment} moment
   * @param {{index: string, group: any, top?: number}} what
   * @param {{onchange: Function, onerror: Function}} reader `onchange(change, isScroll)`
   */
  constructor(connection, moment, { index, group, top = 0 }, reader) {
    this.moment = moment;
    this.group = group;
    this.name = keyID(group);
    this.range = { first: Math.max(0, top - 40), length: LEAST };
    this.isAsking = true;
    const request = {
      index, groups: [group], ranges: { [this.name]: this.rangeText }, totals: true,
    };
    if (moment.at !== null) request.at = moment.at;
    this.window = connection.open(request);
    this.window.onerror = (error) => {
      this.isAsking = false;
      moment.fail(this.window);
      reader.onerror(error);
    };
    moment.attach(this.window);
    this.stop = this.window.listen((change) => {
      // Rows that come with another range were there before: no commit has brought them.
      const isScroll = this.isAsking && change.kind === "change";
      if (!this.window.isPartial) this.isAsking = false;
      reader.onchange(change, isScroll);
      if (this.wanted) this.want(...this.wanted);
    });
  }

  get rangeText() {
    return `fixed:${this.range.length}:${this.range.first}`;
  }

  close() {
    this.stop();
    this.moment.detach(this.window);
    this.window.close();
  }

  get total() {
    return this.window.totals.get(this.name)?.rows ?? 0;
  }

  get first() {
    return this.window.totals.get(this.name)?.first ?? 0;
  }

  /** The rows that are there. */
  get rows() {
    return this.window.section(this.group)?.rows ?? [];
  }

  /** The row at a rank; undefined while it is not there. */
  at(rank) {
    return this.rows[rank - this.first];
  }

  /** The rank of a row by its identity; undefined if it is not there. */
  rank(id) {
    const row = this.window.rows.get(id);
    const index = row ? this.rows.indexOf(row) : -1;
    return index < 0 ? undefined : this.first + index;
  }

  has(id) {
    return this.window.rows.has(id);
  }

  id(row) {
    return rowID(row.group, row.bucket, row.key);
  }

  /** Sees to it that ranks are there, with some around them. */
  want(first, last) {
    this.wanted = [first, last];
    if (this.isAsking) return;
    const margin = Math.max(10, Math.ceil((last - first) / 2));
    const low = Math.max(0, first - margin);
    const high = Math.min(this.total, last + margin);
    if (low >= this.range.first && high <= this.range.first + this.range.length) return;
    const length = Math.max(LEAST, Math.ceil(((last - first) * 3) / 10) * 10);
    const start = Math.max(0, first - Math.floor((length - (last - first)) / 2));
    this.range = { first: start, length };
    this.isAsking = true;
    this.window.setRanges({ [this.name]: this.rangeText });
  }
}
