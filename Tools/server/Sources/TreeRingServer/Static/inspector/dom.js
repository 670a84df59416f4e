// Elements from a description. Text is always text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function describe(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined) continue;
    if (value === false && !name.startsWith("aria-")) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element of HTML: h("p", {class: "note"}, "text", child …). */
export function h(name, attributes, ...children) {
  return describe(document.createElement(name), attributes, children);
}

/** An element of SVG. */
export function s(name, attributes, ...children) {
  return describe(document.createElementNS(SVG, name), attributes, children);
}

/** Sets a text only if it differs, so that nothing is laid out for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A function that runs another at most once a frame, with the latest arguments. */
export function onceAFrame(body) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      body();
    });
  };
}

/** A function that runs another at most once in an interval, and once more at its end. */
export function throttled(milliseconds, body) {
  let timer = null;
  let isDue = false;
  return function run() {
    if (timer !== null) {
      isDue = true;
      return;
    }
    body();
    timer = setTimeout(() => {
      timer = null;
      if (isDue) {
        isDue = false;
        run();
      }
    }, milliseconds);
  };
}

/** Whether animations are wanted. */
export function movesAllowed() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
