// A list that shows the rows in view and no others, whatever their number. Rows are known by
// rank; elements belong to the identity of a row, so that a row that moves takes its element along.

import { h, movesAllowed, onceAFrame } from "./dom.js";
import { ScaledScroll } from "./scaled-scroll.js";

const OVERSCAN = 6;
const REST = 160;
const FRAME = 16;
const MOST_ANIMATIONS = 80;

/** Rows in view of a list of any length. */
export class VirtualList {
  /**
   * @param {Element} scroller the element that scrolls
   * @param {{rowHeight: number, at: Function, make: Function, fill: Function, onrange?: Function,
   *   header?: Element, role?: string, chosen?: Function}} source
   *   `at(rank)` gives {id, …} or null while it is not there; `make()` makes an element;
   *   `fill(element, item, rank)` fills it, with item null for a row that is still to come;
   *   `onrange(first, last)` learns the ranks in view; `chosen()` gives the rank that stays in
   *   view when the list gets less room.
   */
  constructor(scroller, source) {
    this.scroller = scroller;
    this.source = source;
    this.scroll = new ScaledScroll(source.rowHeight);
    this.sizer = h("div", { class: "sizer", role: source.role ?? "rowgroup" });
    scroller.append(this.sizer);
    this.shown = new Map();
    this.spare = [];
    this.draw = onceAFrame(() => this.drawNow());
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(scroller);
  }

  /** Ends the list. */
  close() {
    this.observer.disconnect();
    clearTimeout(this.timer);
    this.isClosed = true;
  }

  get rowHeight() {
    return this.source.rowHeight;
  }

  /** Sets the number of rows. */
  setCount(total) {
    this.catchUp();
    const header = this.source.header?.offsetHeight ?? 0;
    const viewport = Math.max(0, this.scroller.clientHeight - header);
    const real = this.scroll.resize(total, viewport);
    this.sizer.style.height = `${this.scroll.realHeight}px`;
    this.apply(real);
    this.draw();
  }

  /** Takes another height. A chosen row that was in view stays there. */
  resized() {
    const [first, last] = this.scroll.ranks();
    this.setCount(this.scroll.total);
    const rank = this.source.chosen?.();
    if (rank >= first && rank < last) this.reveal(rank);
  }

  /** Brings a rank to the top edge. */
  showAtTop(rank) {
    this.apply(this.scroll.moveTo(rank * this.rowHeight));
    this.draw();
  }

  /** Scrolls as little as possible so that a rank is in view. */
  reveal(rank) {
    const top = rank * this.rowHeight;
    const { scroll } = this;
    if (top < scroll.top) this.apply(scroll.moveTo(top));
    else if (top + this.rowHeight > scroll.top + scroll.viewport) {
      this.apply(scroll.moveTo(top + this.rowHeight - scroll.viewport));
    }
    this.draw();
  }

  /**
   * Takes rows that came or went above those in view: the ranks in view change, and the rows stay
   * where the reader sees them.
   */
  shift(ranks, total) {
    const { scroll } = this;
    scroll.total = total;
    this.sizer.style.height = `${scroll.realHeight}px`;
    this.apply(scroll.moveTo(scroll.top + ranks * this.rowHeight));
    for (const entry of this.shown.values()) {
      entry.rank += ranks;
      entry.isStale = true;
      this.place(entry, scroll.place(entry.rank));
    }
  }

  place(entry, place) {
    if (entry.place === place) return;
    entry.place = place;
    entry.element.style.transform = `translateY(${place}px)`;
  }

  apply(real) {
    if (Math.abs(this.scroller.scrollTop - real) >= 1) this.scroller.scrollTop = real;
  }

  /**
   * Takes a scroll of which the browser has not told yet. Called before the list is moved for other
   * reasons, so that changes that come fast do not undo the reader's scrolls.
   */
  catchUp() {
    if (this.scroller.clientHeight > 0) this.scrolled();
  }

  scrolled() {
    if (Math.abs(this.scroller.scrollTop - this.scroll.real) < 1) return;
    this.scroll.scrolled(this.scroller.scrollTop);
    this.draw();
    clearTimeout(this.timer);
    if (this.scroll.isScaled) {
      this.timer = setTimeout(() => {
        this.apply(this.scroll.rest());
        this.draw();
      }, REST);
    }
  }

  /**
   * Draws, and shows how rows came, went and moved. The first change after a pause is drawn at
   * once, further ones with the next frame.
   *
   * @param {Set<string>} [came] the identities that came; by default all that were not in view
   * @param {boolean} animates whether to show how rows came, went and moved
   */
  drawChange(came, animates = true) {
    this.came = this.animates && came && this.came ? new Set([...this.came, ...came]) : came;
    this.animates = animates && movesAllowed();
    if (performance.now() - (this.drawnAt ?? 0) > FRAME) this.drawNow();
    else this.draw();
  }

  drawNow() {
    if (this.isClosed) return;
    this.drawnAt = performance.now();
    const animates = this.animates && this.shown.size <= MOST_ANIMATIONS + 60;
    this.animates = false;
    const { scroll, source } = this;
    const [first, last] = scroll.ranks();
    const from = Math.max(0, first - OVERSCAN);
    const to = Math.min(scroll.total, last + OVERSCAN);
    source.onrange?.(first, last);
    const old = this.shown;
    this.shown = new Map();
    const moves = [];
    const comers = [];
    for (let rank = from; rank < to; rank++) {
      const item = source.at(rank);
      const id = item ? item.id : `#${rank}`;
      let entry = old.get(id);
      const place = scroll.place(rank);
      if (entry) {
        old.delete(id);
        if (animates && entry.rank !== rank) moves.push([entry.element, entry.place, place]);
      } else {
        entry = { element: this.spare.pop() ?? source.make(), isStale: true };
        if (item && (this.came?.has(id) ?? true)) comers.push(entry);
      }
      this.place(entry, place);
      const content = item?.content ?? item;
      if (entry.isStale || entry.content !== content || entry.rank !== rank) {
        source.fill(entry.element, item, rank, animates && entry.content !== undefined);
      }
      Object.assign(entry, { rank, content, isStale: false });
      this.shown.set(id, entry);
    }
    const isGone = (id) => animates && !id.startsWith("#") && !source.has?.(id);
    for (const [id, entry] of old) this.drop(entry, isGone(id));
    this.order();
    if (animates) {
      for (const [element, before, after] of moves.slice(0, MOST_ANIMATIONS)) {
        slide(element, before, after);
      }
      for (const { element, place } of comers.slice(0, MOST_ANIMATIONS)) enter(element, place);
    }
    source.ondraw?.(first, last);
  }

  /** Puts the elements in the order of their ranks, for readers that follow the document. */
  order() {
    let next = this.sizer.firstChild;
    for (const { element } of this.shown.values()) {
      if (element === next) next = next.nextSibling;
      else this.sizer.insertBefore(element, next);
    }
  }

  drop(entry, isGone) {
    const { element, place } = entry;
    if (isGone) leave(element, place, this.sizer);
    element.remove();
    for (const animation of element.getAnimations?.() ?? []) animation.cancel();
    if (this.spare.length < 80) this.spare.push(element);
  }

  /** The element of an identity, if it is in view. */
  element(id) {
    return this.shown.get(id)?.element;
  }

  /** Fills all rows in view again. */
  refill() {
    for (const entry of this.shown.values()) entry.isStale = true;
    this.draw();
  }
}

function at(place) {
  return `translateY(${place}px)`;
}

function slide(element, before, after) {
  element.animate([{ transform: at(before) }, { transform: at(after) }], {
    duration: 320, easing: "cubic-bezier(.2,.8,.2,1)",
  });
}

function enter(element, place) {
  element.animate(
    [{ transform: `${at(place)} translateX(-14px)`, opacity: 0 },
      { transform: at(place), opacity: 1 }],
    { duration: 260, easing: "ease-out" });
  flash(element, "--came");
}

function leave(element, place, parent) {
  const ghost = element.cloneNode(true);
  ghost.removeAttribute("id");
  ghost.setAttribute("aria-hidden", "true");
  ghost.classList.add("ghost");
  parent.append(ghost);
  const animation = ghost.animate(
    [{ transform: at(place), opacity: 1 },
      { transform: `${at(place)} translateX(18px)`, opacity: 0 }],
    { duration: 240, easing: "ease-in" });
  animation.onfinish = animation.oncancel = () => ghost.remove();
}

/** Lights an element up in a colour of the style sheet. */
export function flash(element, colour) {
  const style = getComputedStyle(element).getPropertyValue(colour).trim();
  // The end is the element's own colour.
  element.animate({ backgroundColor: [style], offset: [0] }, { duration: 1400, easing: "ease-out" });
}
