// Variables of the shell in a compose file: variables of manifests in environments, their defaults everywhere else. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';

export interface Interpolated {
  readonly root: JsonObject;
  /** Default values of the variables that environments use. */
  readonly defaults: Readonly<Record<string, string>>;
  /** Variables that environments use and that have no default. */
  readonly undefaulted: readonly string[];
  /** Variables whose default is written in their place. */
  readonly replaced: readonly string[];
  /** Variables without a default that stand in the default of another one: nothing is written there. */
  readonly emptied: readonly string[];
}

const name = '[A-Za-z_][A-Za-z0-9_]*';
/** A variable inside the default of another one. */
const nested = new RegExp(String.raw`(\$\{${name}:?-[^{}]*)(?<!\$)\$(?:\{(${name})(?::?-([^{}]*))?\}|(${name}))`, 'g');
/** `$$`, `$NAME` or `${NAME...}` without braces inside. */
const variable = new RegExp(String.raw`\$\$|\$(${name})|\$\{(${name})(?:(:?[-?+])([^{}]*))?\}`, 'g');

export function interpolate(root: JsonObject): Interpolated {
  const defaults: Record<string, string> = {};
  const undefaulted = new Set<string>();
  const replaced = new Set<string>();
  const emptied = new Set<string>();

  const kept = (text: string): string =>
    inner(text).replaceAll(variable, (whole, bare?: string, braced?: string, sign?: string, word = '') => {
      const found = bare ?? braced;
      if (found === undefined || sign?.endsWith('+') === true) return whole;
      if (sign?.endsWith('-') !== true) {
        undefaulted.add(found);
        return `\${${found}}`;
      }
      const value = word.replaceAll('$$', () => '$');
      // Another default for the same name would be lost.
      if (defaults[found] !== undefined && defaults[found] !== value) return `\${${found}:-${word}}`;
      defaults[found] = value;
      return `\${${found}}`;
    });
  /** The innermost of nested variables gets its default, or nothing: manifests do not nest them. */
  const inner = (text: string): string => {
    const next = text.replaceAll(
      nested,
      (_, head: string, braced: string | undefined, word: string | undefined, bare = '') => {
        (word === undefined ? emptied : replaced).add(braced ?? bare);
        return `${head}${word ?? ''}`;
      },
    );
    return next === text ? text : inner(next);
  };
  const resolved = (text: string): string =>
    inner(text).replaceAll(variable, (whole, _bare?: string, braced?: string, sign?: string, word = '') => {
      if (braced === undefined || sign?.endsWith('-') !== true) return whole;
      replaced.add(braced);
      return word;
    });
  const walk = (value: Json, path: readonly string[]): Json => {
    if (typeof value === 'string')
      return path[0] === 'services' && path[2] === 'environment' ? kept(value) : resolved(value);
    if (Array.isArray(value)) return (value as readonly Json[]).map((one) => walk(one, path));
    return isMap(value)
      ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, walk(one, [...path, key])]))
      : value;
  };
  const walked = walk(root, []);
  const declared = new Set([...Object.keys(defaults), ...undefaulted]);
  return {
    root: withDollars(walked, declared) as JsonObject,
    defaults,
    undefaulted: [...undefaulted].filter((each) => defaults[each] === undefined),
    replaced: [...replaced],
    emptied: [...emptied],
  };
}

const escaped = new RegExp(String.raw`\$\$(?:\{(${name})|(${name}))?`, 'g');

/** A manifest has one dollar before every name but those of its variables. */
function withDollars(value: Json, declared: ReadonlySet<string>): Json {
  if (typeof value === 'string')
    return value.replaceAll(escaped, (whole, braced?: string, bare?: string) =>
      declared.has(braced ?? bare ?? '') ? whole : whole.slice(1),
    );
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => withDollars(one, declared));
  return isMap(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withDollars(one, declared)]))
    : value;
}
