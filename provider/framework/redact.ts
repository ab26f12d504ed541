// Removes configured values from messages: Terraform knows which of them are sensitive, but does not pass that on to providers. Pure.
import type { Attributes } from './attribute.ts';
import type { Diagnostic } from './diagnostic.ts';
import { isList, isMap, type Value, type ValueMap } from './value.ts';

const instead = '(the value given)';

/** Shorter values are often ordinary words of the message. */
const shortestPlain = 8;

/** Attributes and config keys with free text: programs and servers may print secrets among them. */
const isFreeName = (name: string): boolean =>
  /^(environment|content)$|_wo$|^(environment|user|cloud-init|raw)\.|password|secret|token/.test(name);

/**
 * Removes from the messages the values that `values` has in maps and free texts. Quoted values go everywhere; values of free texts that
 * are long enough to differ from ordinary words also go without quotes. Names of objects stay.
 */
export function redacted(
  diagnostics: readonly Diagnostic[],
  attributes: Attributes,
  values: readonly (ValueMap | null)[],
): readonly Diagnostic[] {
  if (diagnostics.length === 0) return diagnostics;
  const found: ConfiguredTexts = { quoted: new Set(), plain: new Set() };
  for (const each of values)
    for (const name of Object.keys(attributes)) {
      collect(each?.[name] ?? null, { inMap: false, isFree: isFreeName(name) }, found);
    }
  for (const each of values)
    for (const name of Object.keys(attributes)) {
      const value = each?.[name];
      if (typeof value !== 'string' || isFreeName(name)) continue;
      found.quoted.delete(value);
      found.plain.delete(value);
    }
  const hide = (text: string): string => hidden(text, found);
  return diagnostics.map((each) => ({ ...each, summary: hide(each.summary), detail: hide(each.detail) }));
}

interface ConfiguredTexts {
  readonly quoted: Set<string>;
  readonly plain: Set<string>;
}

function collect(
  value: Value,
  at: { readonly inMap: boolean; readonly isFree: boolean },
  found: ConfiguredTexts,
): void {
  if (typeof value === 'string') {
    if (value === '' || !(at.inMap || at.isFree)) return;
    found.quoted.add(value);
    if (at.isFree && value.length >= shortestPlain) found.plain.add(value);
  } else if (isList(value)) {
    for (const item of value) collect(item, at, found);
  } else if (isMap(value)) {
    for (const [key, item] of Object.entries(value))
      collect(item, { inMap: true, isFree: at.isFree || isFreeName(key) }, found);
  }
}

/** The quoted forms in messages, which cut long values. */
const spellings = (value: string): readonly string[] => [
  JSON.stringify(value),
  ...(value.length > 60 ? [JSON.stringify(`${value.slice(0, 57)}...`)] : []),
];

function hidden(text: string, { quoted, plain }: ConfiguredTexts): string {
  let shown = text;
  for (const value of longestFirst(plain)) shown = shown.replaceAll(value, instead);
  for (const value of longestFirst(quoted))
    for (const spelling of spellings(value)) shown = shown.replaceAll(spelling, instead);
  return shown.replaceAll(JSON.stringify(instead), instead);
}

const longestFirst = (values: ReadonlySet<string>): readonly string[] =>
  [...values].toSorted((a, b) => b.length - a.length);
