// Time limits of operations on an object: the attribute that every resource has, and the limit it sets.
import { object, text, type Attribute } from './attribute.ts';
import { durationCheck, parseDuration } from './duration.ts';

export type OperationName = 'create' | 'read' | 'update' | 'delete';
export type Timeouts = Readonly<Record<OperationName, string | null>>;

const limit = (what: OperationName) =>
  text({ doc: `Time limit of ${what}, such as 90s or 10m.`, check: durationCheck });

/** `timeouts = { create = "10m" }`. */
export const timeoutsAttribute: Attribute<Timeouts | null> = object(
  { create: limit('create'), read: limit('read'), update: limit('update'), delete: limit('delete') },
  { doc: 'Time limits of operations.' },
);

export const defaultTimeoutMs = 5 * 60_000;

export function timeoutMs(timeouts: unknown, operation: OperationName, otherwise = defaultTimeoutMs): number {
  const written = (timeouts as Timeouts | null | undefined)?.[operation];
  return (typeof written === 'string' ? parseDuration(written) : undefined) ?? otherwise;
}
