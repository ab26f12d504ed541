// The functions that are evaluated, by name; every other name is refused with the nearest one.
import { hint } from '../../../../server/api/nearest.ts';
import { collections } from './functions-collections.ts';
import { conversions } from './functions-conversions.ts';
import { numbers } from './functions-numbers.ts';
import { texts } from './functions-texts.ts';
import { ExpressionError, type Span } from './syntax.ts';
import { ConversionError, isWhole, unknown, type Value } from './values.ts';

/** A function of values; throws ConversionError when they are of no use to it. */
export interface FunctionRow {
  readonly least: number;
  /** Absent: any number. */
  readonly most?: number;
  /** Sees unknown values itself; the others answer unknown as soon as an argument is not wholly known. */
  readonly seesUnknown?: true;
  /** The others refuse null. */
  readonly takesNull?: true;
  readonly run: (args: readonly Value[]) => Value;
}

const table: Readonly<Record<string, FunctionRow>> = { ...texts, ...numbers, ...collections, ...conversions };

/** Whose arguments may fail. */
const lazy: ReadonlySet<string> = new Set(['try', 'can']);
export const isLazyFunction = (name: string): boolean => lazy.has(name);

/** Sorted. */
export const functionNames: readonly string[] = [...Object.keys(table), ...lazy].sort();

export function callFunction(name: string, args: readonly Value[], span: Span): Value {
  const row = Object.hasOwn(table, name) ? table[name] : undefined;
  if (row === undefined) {
    throw new ExpressionError('E_FUNCTION', `the function ${name} is not evaluated${hint(name, functionNames)}`, span);
  }
  if (args.length < row.least || (row.most !== undefined && args.length > row.most)) {
    throw new ExpressionError('E_TYPE', `${name}() takes ${countText(row)}, not ${args.length}`, span);
  }
  const empty = row.takesNull === true ? -1 : args.indexOf(null);
  if (empty >= 0) throw new ExpressionError('E_VALUE', `${name}(): argument ${empty + 1} is null`, span);
  if (row.seesUnknown !== true && !args.every(isWhole)) return unknown;
  try {
    return row.run(args);
  } catch (error) {
    if (error instanceof ConversionError) throw new ExpressionError('E_VALUE', `${name}(): ${error.message}`, span);
    throw error;
  }
}

function countText({ least, most }: FunctionRow): string {
  if (most === undefined) return `at least ${least} arguments`;
  return least === most ? `${least} argument${least === 1 ? '' : 's'}` : `${least} to ${most} arguments`;
}
