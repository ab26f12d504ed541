// Labels that users choose for selection. Live objects store them in their config (`user.gantry.label.KEY`), so that they are planned,
// owned, exported and adopted like every other key; kinds without config have them in documents only.
import type { Json, JsonObject } from './document.ts';
import { asText, mapOf } from './json-values.ts';

export const labelPrefix = 'user.gantry.label.';

export type Labels = Readonly<Record<string, string>>;

export interface LabelProblem {
  /** Below `labels`. */
  readonly key: string;
  readonly message: string;
}

const word = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const prefix = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** As in Kubernetes: `app`, `example.org/app`. */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  return word.test(key.slice(slash + 1)) && (slash === -1 || prefix.test(key.slice(0, slash)));
}

/** May be empty. */
export const isLabelValue = (value: string): boolean => value === '' || word.test(value);

const rule = 'letters, digits, - _ and . in between, at most 63';

export function labelProblems(labels: JsonObject): readonly LabelProblem[] {
  return Object.entries(labels).flatMap(([key, value]): LabelProblem[] => {
    if (!isLabelKey(key)) return [{ key, message: `the label ${JSON.stringify(key)} must be ${rule}` }];
    if (value === null || isLabelValue(asText(value))) return [];
    return [{ key, message: `the value of the label ${key} must be ${rule}, is ${JSON.stringify(asText(value))}` }];
  });
}

/** `null` is not a label: it declares that the live object must not have one. */
export const presentLabels = (labels: JsonObject): Labels =>
  Object.fromEntries(Object.entries(labels).flatMap(([key, value]) => (value === null ? [] : [[key, asText(value)]])));

/** As they are written into the config. */
export const labelConfig = (labels: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [`${labelPrefix}${key}`, value === null ? null : asText(value)]),
  );

export function labelsOf(live: object): Labels {
  const config = mapOf((live as { readonly config?: Json }).config);
  return Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) =>
      key.startsWith(labelPrefix) ? [[key.slice(labelPrefix.length), asText(value)]] : [],
    ),
  );
}
