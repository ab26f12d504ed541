// Variables of the shell and of `.env` in a compose file: variables of manifests in environments, their values everywhere else. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap } from '../../core/documents/json-values.ts';
import { dollarsDoubled } from './env-lines.ts';
import { substitute, valueOf } from './substitute.ts';

const name = '[A-Za-z_][A-Za-z0-9_]*';
const wholeName = new RegExp(`^${name}$`);
/** `$$`, `$NAME` or `${NAME...}` without braces inside. */
const variable = new RegExp(String.raw`\$\$|\$(${name})|\$\{(${name})(?:(:?[-?+])([^{}]*))?\}`, 'g');
/** The text before the first `=` outside of braces. */
const keyOfPair = /^(?:\$\{[^{}]*\}|[^=])*/;
/** Values of `.env` are written in places up to this length together. */
const mostWritten = 4 * 1024 * 1024;

export class Interpolation {
  /** Values of the variables that environments use: defaults, and those of `.env`. */
  readonly values = new Map<string, string>();
  /** Variables whose default is written in their place. */
  readonly replaced = new Set<string>();
  /** Variables without a default that stand in the default of another one: nothing is written there. */
  readonly emptied = new Set<string>();
  /** Variables of `.env` that environments use. */
  readonly kept = new Set<string>();
  /** Variables of `.env` whose value is written in their place. */
  readonly written = new Set<string>();
  readonly #undefaulted = new Set<string>();
  readonly #dotEnv: ReadonlyMap<string, string>;
  #left = mostWritten;

  constructor(dotEnv: ReadonlyMap<string, string>) {
    this.#dotEnv = dotEnv;
  }

  /** Variables that environments use and that have no value. */
  get undefaulted(): readonly string[] {
    return [...this.#undefaulted].filter((each) => !this.values.has(each));
  }

  root(given: JsonObject): JsonObject {
    const walked = this.#walk(given, []);
    return withDollars(walked, new Set([...this.values.keys(), ...this.#undefaulted])) as JsonObject;
  }

  /** A text with values in the place of its variables. */
  text(given: string): string {
    return withDollars(this.#resolved(given), new Set()) as string;
  }

  #walk(value: Json, path: readonly string[]): Json {
    const isEnvironment = path[0] === 'services' && path[2] === 'environment';
    if (isEnvironment && path.length === 4 && value === null) return this.#fromDotEnv(path[3] ?? '') ?? value;
    if (typeof value === 'string') return isEnvironment ? this.#pair(value, path) : this.#resolved(value);
    if (Array.isArray(value)) return (value as readonly Json[]).map((one) => this.#walk(one, path));
    return isMap(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, one]) => [
            isEnvironment && path.length === 3 ? this.#resolved(key) : key,
            this.#walk(one, [...path, key]),
          ]),
        )
      : value;
  }

  /** A value, or in a list also its name, which has no variables in a manifest. */
  #pair(given: string, path: readonly string[]): string {
    const text = this.#pairOf(given, path);
    const [key = ''] = path.length === 3 ? (keyOfPair.exec(text) ?? []) : [];
    return this.#resolved(key) + this.#kept(text.slice(key.length));
  }

  /** A name alone in a list takes its value from outside. */
  #pairOf(text: string, path: readonly string[]): string {
    return path.length === 3 && this.#dotEnv.has(text) && wholeName.test(text) ? `${text}=\${${text}}` : text;
  }

  #fromDotEnv(found: string): string | undefined {
    return this.#dotEnv.has(found) && wholeName.test(found) ? this.#kept(`\${${found}}`) : undefined;
  }

  #kept(text: string): string {
    return this.#inner(text).replaceAll(variable, (whole, bare?: string, braced?: string, sign = '', word = '') => {
      const found = bare ?? braced;
      if (found === undefined) return whole;
      const value = this.#dotEnv.get(found);
      if (sign.endsWith('+'))
        return value === undefined ? whole : valueOf({ name: found, sign, word, whole }, value, same);
      if (value !== undefined) {
        this.kept.add(found);
        this.values.set(found, value);
        return value === '' && sign === ':-' ? `\${${found}:-${word}}` : `\${${found}}`;
      }
      if (!sign.endsWith('-')) {
        this.#undefaulted.add(found);
        return `\${${found}}`;
      }
      const byDefault = word.replaceAll('$$', () => '$');
      // Another default for the same name would be lost.
      if ((this.values.get(found) ?? byDefault) !== byDefault) return `\${${found}:-${word}}`;
      this.values.set(found, byDefault);
      return `\${${found}}`;
    });
  }

  #resolved(text: string): string {
    return this.#inner(text).replaceAll(variable, (whole, bare?: string, braced?: string, sign = '', word = '') => {
      const found = bare ?? braced;
      if (found === undefined) return whole;
      const value = this.#valueInPlace(found);
      if (value !== undefined) return valueOf({ name: found, sign, word, whole }, value, same);
      if (braced === undefined || !sign.endsWith('-')) return whole;
      this.replaced.add(found);
      return word;
    });
  }

  /** Variables in the default of another one get their value, their default, or nothing: manifests do not nest them. */
  #inner(text: string): string {
    return substitute(text, Infinity, ({ name: outer, sign, word, whole }) =>
      sign.endsWith('-') ? `\${${outer}${sign}${this.#flat(word)}}` : whole,
    );
  }

  #flat(text: string): string {
    return substitute(text, Infinity, ({ name: found, sign, word, whole }) => {
      if (sign !== '' && !sign.endsWith('-')) return whole;
      const value = this.#valueInPlace(found);
      if (value !== undefined && !/[{}]/.test(value)) return value === '' ? this.#flat(word) : value;
      (sign === '' ? this.emptied : this.replaced).add(found);
      return this.#flat(word);
    });
  }

  #valueInPlace(found: string): string | undefined {
    const value = this.#dotEnv.get(found);
    if (value === undefined || value.length > this.#left) return undefined;
    this.#left -= value.length;
    this.written.add(found);
    return dollarsDoubled(value);
  }
}

const same = (word: string): string => word;

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
