// Values of templates, and the limit on the work they cause. None is a JavaScript object, so nothing is inherited.

export type Value = string | number | boolean | null | readonly Value[] | ReadonlyMap<string, Value> | Callable;

/** A function that a template can call; the only way out of it. */
export class Callable {
  readonly call: (args: readonly Value[]) => Value;
  constructor(call: (args: readonly Value[]) => Value) {
    this.call = call;
  }
}

export interface RenderLimits {
  /** Approximately: evaluated parts, plus one per 64 characters. */
  readonly work: number;
  readonly outputBytes: number;
}

export class Budget {
  #left: number;
  readonly textLength: number;

  constructor(limits: RenderLimits) {
    this.#left = limits.work;
    this.textLength = limits.outputBytes;
  }

  spend(characters = 0): void {
    this.#left -= 1 + characters / 64;
    if (this.#left < 0) throw new RangeError('the template takes too much work');
  }

  /** Call it before a text of that length is made. */
  allow(length: number): void {
    if (length > this.textLength) throw new RangeError(`the result is larger than ${this.textLength} bytes`);
    this.spend(length);
  }
}

const maxListDepth = 20;

export function textOf(value: Value, budget: Budget, depth = 0): string {
  if (typeof value === 'string') return value;
  if (value === null || value instanceof Callable) return '';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return String(value);
  if (depth > maxListDepth) throw new RangeError('a list is nested too deeply');
  const parts: string[] = [];
  let length = 0;
  const items = Array.isArray(value)
    ? (value as readonly Value[])
    : [...(value as ReadonlyMap<string, Value>).values()];
  for (const item of items) {
    const part = textOf(item, budget, depth + 1);
    length += part.length + 2;
    budget.allow(length);
    parts.push(part);
  }
  return parts.join(', ');
}

export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map) return value.size > 0;
  return value !== null && value !== '' && value !== 0 && value !== false;
}

/** Converts plain data to values; drops other members. */
export function toValue(data: unknown): Value {
  if (data instanceof Callable) return data;
  if (typeof data === 'string' || typeof data === 'number' || typeof data === 'boolean') return data;
  if (Array.isArray(data)) return data.map(toValue);
  if (typeof data !== 'object' || data === null) return null;
  const entries = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(entries.map(([key, value]) => [key, toValue(value)]));
}
