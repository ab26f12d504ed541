// Replaces `$NAME`, `${NAME}`, `${NAME:-default}` and `$$NAME` in texts. Only declared names are replaced, since shell scripts and
// cloud-init texts contain dollars themselves.
import type { Json } from '../../core/documents/document.ts';

/** undefined: declared without a value. */
export type Variables = ReadonlyMap<string, string | undefined>;

export interface Expansion {
  readonly value: Json;
  /** Path of each text that uses a variable without a value, with its name. */
  readonly empty: readonly { readonly path: string; readonly name: string }[];
}

const pattern = /(\$?)\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** The variables that the texts of a value name, declared or not. */
export function namesIn(value: Json): ReadonlySet<string> {
  const texts = typeof value === 'string' ? [value] : [];
  const below = typeof value === 'object' && value !== null ? Object.values(value as object) : [];
  const own = texts.flatMap((text) => [...text.matchAll(pattern)].filter(([, escape]) => escape !== '$'));
  const names = own.map(([, , braced, , bare]) => braced ?? bare ?? '');
  return new Set([...names, ...below.flatMap((item) => [...namesIn(item as Json)])]);
}

export function expandVariables(value: Json, variables: Variables): Expansion {
  const empty: { path: string; name: string }[] = [];
  return { value: variables.size === 0 ? value : expand(value, variables, '', empty), empty };
}

function expand(value: Json, variables: Variables, path: string, empty: { path: string; name: string }[]): Json {
  if (typeof value === 'string') return value.includes('$') ? expandText(value, variables, path, empty) : value;
  if (typeof value !== 'object' || value === null) return value;
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`);
  if (Array.isArray(value))
    return value.map((item: Json, index) => expand(item, variables, below(String(index)), empty));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expand(item, variables, below(key), empty)]),
  );
}

function expandText(text: string, variables: Variables, path: string, empty: { path: string; name: string }[]): Json {
  const result = text.replaceAll(
    pattern,
    (whole: string, escape: string, braced?: string, otherwise?: string, bare?: string) => {
      const name = braced ?? bare ?? '';
      if (!variables.has(name)) return whole;
      if (escape === '$') return whole.slice(1);
      const value = variables.get(name);
      const chosen = value === undefined || value === '' ? (otherwise ?? value) : value;
      if (chosen === undefined) empty.push({ path, name });
      return chosen ?? '';
    },
  );
  // A variable that is the whole value may be a boolean.
  const isWhole = /^\$(\{[^}]*\}|\w+)$/.test(text) && result !== text;
  return isWhole && (result === 'true' || result === 'false') ? result === 'true' : result;
}
