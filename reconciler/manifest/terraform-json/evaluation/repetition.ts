// `count` and `for_each` of a resource, a data source or a module: finds the instances with their keys.
import { below, type Piece } from '../config/blocks.ts';
import { isMap, isSet, keysOf, mapFrom, toNumber, typeName, unknown, type Value } from '../expression/values.ts';
import type { Report } from '../problem.ts';
import type { Code } from '../unsupported.ts';
import type { Repetition } from './instance.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const max = 10_000;

/** Undefined, with a problem, when the value is unusable or unknown. `evaluate` gives the value at a place of the block. */
export function repetitionOf(
  piece: Piece,
  evaluate: (name: 'count' | 'for_each') => Value,
  report: Report,
): readonly Repetition[] | undefined {
  const { count, for_each: each } = piece.body;
  const refuse = (name: 'count' | 'for_each', message: string, code: Code = 'E_COUNT'): undefined => {
    const { file, steps } = below(piece, name);
    report({ code, message, file, steps, ...withoutUndefined({ construct: piece.construct }) });
    return undefined;
  };
  if (count !== undefined && each !== undefined) return refuse('count', 'count and for_each exclude each other');
  if (count === undefined && each === undefined) return [{ key: '', context: { place: piece, block: piece.body } }];
  if (count !== undefined) {
    const number = numberIn(evaluate('count'));
    if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= max)
      return Array.from({ length: number }, (_, at) => ({
        key: `[${at}]`,
        context: { place: piece, block: piece.body, count: at },
      }));
    return refuse('count', `count must be a whole number, and ${stateOf(number)}`, codeOf(number));
  }
  const value = evaluate('for_each');
  const entries = entriesOf(value);
  if (entries === undefined)
    return refuse('for_each', `for_each must be a map or a set of strings, and ${stateOf(value)}`, codeOf(value));
  return entries.map(([key, item]) => ({
    key: `[${JSON.stringify(key)}]`,
    context: { place: piece, block: piece.body, each: { key, value: item } },
  }));
}

function entriesOf(each: Value): readonly (readonly [string, Value])[] | undefined {
  const entries = isSet(each)
    ? each.items.map((item) => [item, item] as const)
    : isMap(each)
      ? keysOf(each).map((key) => [key, each[key] ?? null] as const)
      : undefined;
  return entries?.every((entry): entry is readonly [string, Value] => typeof entry[0] === 'string') === true
    ? entries
    : undefined;
}

const codeOf = (value: Value): Code => (value === unknown ? 'E_UNKNOWN_VALUE' : 'E_COUNT');

const stateOf = (value: Value): string =>
  value === unknown ? 'is not known before an apply' : `is ${typeName(value)}`;

/** A numeric text counts as a number. */
function numberIn(value: Value): Value {
  try {
    return toNumber(value);
  } catch {
    return value;
  }
}

/** `[0]` -> 0, `["a"]` -> "a". */
export const keyIn = (key: string): string | number => JSON.parse(key.slice(1, -1)) as string | number;

/** The value of a reference to all instances: one value, a list for count, a map for for_each. */
export function gathered(piece: Piece, values: readonly (readonly [key: string, value: Value])[]): Value {
  if (piece.body['count'] !== undefined) return values.map(([, value]) => value);
  if (piece.body['for_each'] === undefined) return values[0]?.[1] ?? unknown;
  return mapFrom(values.map(([key, value]) => [String(keyIn(key)), value] as const));
}
