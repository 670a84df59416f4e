// JSON in which integers keep all their digits: those that no number holds exactly become texts.

const LONG = /[0-9]{16}/;
const INTEGER = /^-?[0-9]+$/;

function exact(name, value, context) {
  // Browsers that do not give the source round, as before.
  const isRounded = typeof value === "number" && !Number.isSafeInteger(value)
    && INTEGER.test(context?.source ?? "");
  return isRounded ? context.source : value;
}

/** The value of a JSON text. */
export function parse(text) {
  return LONG.test(text) ? JSON.parse(text, exact) : JSON.parse(text);
}
