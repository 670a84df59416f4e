// The groups of an index with their numbers of rows. A live window with one row of each group gives
// them; an index of more groups than a window takes is read page by page.

import { keyID } from "/treering.js";
import { path } from "./api.js";

/** The groups of an index. */
export class GroupWindow {
  constructor(page, index, onchange) {
    this.page = page;
    this.index = index;
    this.onchange = onchange;
    /** The groups, {group, id, rows}, in name order; with pages, those read so far. */
    this.groups = [];
    this.next = undefined;
    this.open();
  }

  open() {
    const { connection, moment } = this.page;
    const request = { index: this.index, groups: null, range: "fixed:1", fields: [], totals: true };
    if (moment.at !== null) request.at = moment.at;
    this.window = connection.open(request);
    this.window.onerror = (error) => {
      moment.fail(this.window);
      if (error.code === "tooLarge") this.readPages();
    };
    moment.attach(this.window);
    this.stop = this.window.listen((change) => {
      if (this.window.isPartial) return;
      this.groups = this.window.sections.map(({ group }) => {
        const id = keyID(group);
        return { group, id, rows: this.window.totals.get(id)?.rows ?? 0 };
      });
      this.onchange(change.kind === "change");
    });
  }

  close() {
    this.stop?.();
    if (this.window) {
      this.page.moment.detach(this.window);
      this.window.close();
      this.window = null;
    }
    this.forget?.();
    this.isClosed = true;
  }

  // MARK: Pages

  readPages() {
    this.close();
    this.isClosed = false;
    this.stop = undefined;
    const again = () => {
      this.groups = [];
      this.next = undefined;
      this.readMore();
    };
    this.forget = this.page.moment.listen((reason) => {
      if (reason === "moved") again();
    });
    again();
  }

  /** Reads one more page, if there is one. */
  async readMore() {
    if (this.window || this.isReading || this.next === null) return;
    this.isReading = true;
    // Another list once the moment has moved: the answer is of the former one.
    const { groups } = this;
    try {
      const answer = await this.page.api.get(path`/v1/indexes/${this.index}/groups`, {
        from: this.next === undefined ? undefined : keyID(this.next), limit: 1000,
        at: this.page.moment.at,
      });
      if (this.isClosed || groups !== this.groups) return;
      for (const { group, rows } of answer.groups) {
        groups.push({ group, id: keyID(group), rows });
      }
      this.next = answer.next;
      this.onchange(false);
    } catch (error) {
      this.page.fail(error);
    } finally {
      this.isReading = false;
      if (!this.isClosed && groups !== this.groups) this.readMore();
    }
  }
}
