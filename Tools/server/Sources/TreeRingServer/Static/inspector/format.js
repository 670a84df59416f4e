// Numbers, dates, keys and values as text for people.

const COUNT = new Intl.NumberFormat("en");
const DATE = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:\d{2})?(\.\d+)?(Z|[+-]\d{2}:\d{2})?$/;

/** A whole number with separators. */
export function count(number) {
  return COUNT.format(number);
}

/** A number with its noun: "1 row", "2 rows". */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Bytes with a unit. */
export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = number;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A duration in milliseconds, exact for short ones. */
export function milliseconds(value) {
  if (value < 0.01) return "< 0.01 ms";
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value)} ms`;
}

/** Whether a value is a date with a time, as ISO 8601 writes it. */
export function isDate(value) {
  return typeof value === "string" && DATE.test(value);
}

/** A date as it is written, without seconds and zone: the time of day at its own place. */
export function shortDate(value) {
  const [, day, time] = value.match(DATE);
  return `${day} ${time}`;
}

/** A moment in the reader's own zone, to the second. */
export function moment(value) {
  const date = new Date(value);
  const part = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${part(date.getMonth() + 1)}-${part(date.getDate())} `
    + `${part(date.getHours())}:${part(date.getMinutes())}:${part(date.getSeconds())}`;
}

/** A key or a group, which may be bytes as {"$base64": …}. */
export function key(value) {
  if (typeof value === "string") return value === "" ? "(empty)" : value;
  return JSON.stringify(value);
}

/** A value of an object in a cell or in a list of fields. */
export function value(content) {
  if (content === undefined) return "";
  if (content === null) return "null";
  if (isDate(content)) return shortDate(content);
  if (typeof content === "string") return content;
  return JSON.stringify(content);
}

/** A hue between 0 and 359 that depends on the text alone. */
export function hue(text) {
  let hash = 7;
  for (const character of text) hash = (Math.imul(hash, 31) + character.codePointAt(0)) >>> 0;
  return (hash * 137) % 360;
}
