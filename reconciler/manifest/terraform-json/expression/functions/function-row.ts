// A function of expressions: a row of the table of functions.
import type { FileReader } from './file-reader.ts';
import { isList, isMap, uniform, type Value, type ValueMap } from '../values.ts';

/** The environment of functions, besides their arguments. */
export interface FunctionContext {
  readonly files?: FileReader;
  /** The value of a template whose names are these variables. Throws ConversionError. */
  readonly render: (template: string, variables: ValueMap) => Value;
}

/** A function of values; throws ConversionError when it cannot use them. */
export interface FunctionRow {
  readonly least: number;
  /** Absent: any number. */
  readonly max?: number;
  /** Handles unknown values itself; other functions return unknown if any part of an argument is. */
  readonly seesUnknown?: true;
  /** Passes elements on without looking into them, so that unknown ones do not matter. */
  readonly passesElements?: true;
  /** The others refuse null. */
  readonly takesNull?: true;
  readonly run: (args: readonly Value[], context: FunctionContext) => Value;
}

/** The function, whose result is a list or a map instead of a tuple or an object. `sample`: a value of the type of its elements. */
export const makesList = (row: FunctionRow, sample: Value = null): FunctionRow => ({
  ...row,
  run: (args, context) => {
    const value = row.run(args, context);
    return isList(value) || isMap(value) ? uniform(value, sample) : value;
  },
});
