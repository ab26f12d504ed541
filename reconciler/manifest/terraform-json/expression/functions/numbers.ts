// Functions of numbers.
import { list, number, text, whole } from './arguments.ts';
import type { FunctionRow } from './function-row.ts';
import { plus } from '../operators.ts';
import { ConversionError, tidy, toNumber, type Value } from '../values.ts';

const extreme = (pick: (...values: number[]) => number): FunctionRow => ({
  least: 1,
  run: (args) => pick(...args.map((_, index) => number(args, index))),
});
const single = (compute: (value: number) => number): FunctionRow => ({
  least: 1,
  max: 1,
  run: (args) => tidy(compute(number(args, 0))),
});

const digits = /^[-+]?[0-9a-z]+$/i;

function parseInteger(source: string, base: number): number {
  if (base < 2 || base > 36) throw new ConversionError(`the base must be 2 to 36, not ${base}`);
  const isValid =
    digits.test(source) &&
    source
      .replace(/^[-+]/, '')
      .split('')
      .every((digit) => Number.parseInt(digit, base) >= 0);
  if (!isValid) throw new ConversionError(`${JSON.stringify(source)} is no whole number of base ${base}`);
  return tidy(Number.parseInt(source, base) + 0);
}

/** The logarithm to all its digits, as Terraform has it. */
function logarithm(value: number, base: number): number {
  const result = Math.log(value) / Math.log(base);
  if (!Number.isFinite(result)) throw new ConversionError(`there is no logarithm of ${value} to the base ${base}`);
  return result;
}

function sum(values: readonly Value[]): number {
  if (values.length === 0) throw new ConversionError('the sum of nothing has no value');
  return values.reduce<number>((total, value) => {
    const next = toNumber(value);
    if (typeof next !== 'number') throw new ConversionError('null is no summand');
    return plus(total, next);
  }, 0);
}

export const numbers: Readonly<Record<string, FunctionRow>> = {
  min: extreme(Math.min),
  max: extreme(Math.max),
  abs: single(Math.abs),
  floor: single((value) => Math.floor(value) + 0),
  // Whole results have no minus zero.
  ceil: single((value) => Math.ceil(value) + 0),
  signum: { least: 1, max: 1, run: (args) => Math.sign(whole(args, 0)) + 0 },
  log: { least: 2, max: 2, run: (args) => logarithm(number(args, 0), number(args, 1)) },
  pow: { least: 2, max: 2, run: (args) => tidy(number(args, 0) ** number(args, 1)) },
  parseint: { least: 2, max: 2, run: (args) => parseInteger(text(args, 0), whole(args, 1)) },
  sum: { least: 1, max: 1, run: (args) => sum(list(args, 0)) },
};
