// Checks that JSON text is small enough to parse at once: its depth and number of values, counted without parsing.

export interface JsonShape {
  /** Levels of lists and objects. */
  readonly maxDepth: number;
  /** Values and names, approximately: commas, colons and brackets outside texts. */
  readonly maxValues: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The broken rule as the end of a sentence ("is nested ..."), undefined if the text is within the limits. Takes some 2 ms per megabyte.
 *  Does not check that the text is JSON. */
export function shapeProblem(bytes: Uint8Array, { maxDepth, maxValues }: JsonShape): string | undefined {
  let [depth, values, isText] = [0, 0, false];
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (isText) {
      if (byte === backslash) index += 1;
      else if (byte === quote) isText = false;
      continue;
    }
    if (byte === quote) isText = true;
    else if (byte === comma || byte === colon) values += 1;
    else if (byte === openList || byte === openObject) {
      values += 1;
      depth += 1;
      if (depth > maxDepth) return `is nested deeper than ${maxDepth} levels`;
    } else if (byte === closeList || byte === closeObject) depth -= 1;
    if (values > maxValues) return `has more than ${maxValues} values`;
  }
  return undefined;
}

/** Whether a parsed value has a member named __proto__ anywhere. Not recursive: nesting may exceed the stack. */
export function hasProto(value: unknown): boolean {
  const open: unknown[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    if (Object.hasOwn(next, '__proto__')) return true;
    for (const member of Object.values(next)) if (typeof member === 'object' && member !== null) open.push(member);
  }
  return false;
}
