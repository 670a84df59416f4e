// Fields of objects by dotted path, and the differences between two objects.

/** Whether a value has fields of its own. */
function isObject(content) {
  return typeof content === "object" && content !== null && !Array.isArray(content)
    && !("$base64" in content);
}

/** The fields of an object, [path, value]; a value without fields is the field "value". */
export function fields(content, prefix = "") {
  if (!isObject(content)) return prefix ? [[prefix, content]] : [["value", content]];
  const found = [];
  for (const [name, part] of Object.entries(content)) {
    const path = prefix ? `${prefix}.${name}` : name;
    if (isObject(part) && Object.keys(part).length > 0) found.push(...fields(part, path));
    else found.push([path, part]);
  }
  return found;
}

/** The value at a path; undefined if there is none. */
export function field(content, path) {
  if (!isObject(content)) return path === "value" ? content : undefined;
  if (path in content) return content[path];
  let part = content;
  for (const name of path.split(".")) {
    if (!isObject(part)) return undefined;
    part = part[name];
  }
  return part;
}

/**
 * The fields that differ, in the order of the later object: {path, before, after}, with undefined
 * on the side that lacks the field.
 */
export function differences(before, after) {
  const old = new Map(before === undefined ? [] : fields(before));
  const found = [];
  for (const [path, value] of after === undefined ? [] : fields(after)) {
    const known = old.get(path);
    const isSame = old.has(path) && JSON.stringify(known) === JSON.stringify(value);
    if (!isSame) found.push({ path, before: known, after: value });
    old.delete(path);
  }
  for (const [path, value] of old) found.push({ path, before: value, after: undefined });
  return found;
}
