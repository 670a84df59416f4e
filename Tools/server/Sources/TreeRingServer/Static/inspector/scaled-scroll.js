// The geometry of a list that may be taller than a browser lets any element be. Up to a limit a
// pixel of the scroll bar is a pixel of the list. Beyond it the list is pushed up by an offset:
// short scrolls keep the offset, so that rows move as the wheel does, and long ones set it anew,
// so that the bar's ends are the list's ends.

/** The tallest element that all browsers show. */
export const LIMIT = 8_000_000;

/** The position of a list in its scroller. */
export class ScaledScroll {
  constructor(rowHeight, limit = LIMIT) {
    this.rowHeight = rowHeight;
    this.limit = limit;
    this.total = 0;
    this.viewport = 0;
    /** The list's pixel at the top edge. */
    this.top = 0;
    /** The scroller's own position. */
    this.real = 0;
  }

  /** The height of all rows. */
  get height() {
    return this.total * this.rowHeight;
  }

  /** The height of the element that is scrolled. */
  get realHeight() {
    return Math.min(this.height, this.limit);
  }

  /** The list's pixel at the top of that element. */
  get offset() {
    return this.top - this.real;
  }

  get lastTop() {
    return Math.max(0, this.height - this.viewport);
  }

  get lastReal() {
    return Math.max(0, this.realHeight - this.viewport);
  }

  get isScaled() {
    return this.height > this.limit;
  }

  get isAtEnd() {
    return this.lastTop > 0 && this.top >= this.lastTop - 1;
  }

  /** Takes another number of rows or height of the viewport; the top row stays if it can. */
  resize(total, viewport) {
    this.total = total;
    this.viewport = viewport;
    return this.moveTo(this.top);
  }

  /** Moves the list's pixel to the top edge; returns the scroller's position for it. */
  moveTo(top) {
    this.top = Math.min(Math.max(0, top), this.lastTop);
    this.real = this.isScaled
      ? Math.round((this.top / this.lastTop) * this.lastReal) : this.top;
    return this.real;
  }

  /** Follows the scroller. Returns whether the offset has changed, so that all rows must move. */
  scrolled(real) {
    const change = real - this.real;
    if (change === 0) return false;
    this.real = real;
    if (!this.isScaled) {
      this.top = real;
      return false;
    }
    const isShort = Math.abs(change) <= this.viewport * 1.5;
    const isAtEdge = real <= 0 || real >= this.lastReal;
    if (isShort && !isAtEdge) {
      this.top = Math.min(Math.max(0, this.top + change), this.lastTop);
      return false;
    }
    // A short scroll that meets an edge of the bar in the middle of the list goes on from there.
    if (isShort && this.top + change > 0 && this.top + change < this.lastTop) {
      this.top += change;
      return true;
    }
    this.top = (real / this.lastReal) * this.lastTop;
    return true;
  }

  /** The scroller's position that the present top has in proportion, for when scrolling rests. */
  rest() {
    return this.moveTo(this.top);
  }

  /** The ranks in view, from the first to behind the last. */
  ranks() {
    const first = Math.floor(this.top / this.rowHeight);
    const last = Math.ceil((this.top + this.viewport) / this.rowHeight);
    return [Math.max(0, Math.min(first, this.total)), Math.min(last, this.total)];
  }

  /** The place of a rank in the element that is scrolled. */
  place(rank) {
    return rank * this.rowHeight - this.offset;
  }
}
