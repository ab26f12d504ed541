// The functions that are evaluated, by name; every other name is refused with the nearest one.
import { hint } from '../../../../../server/api/text/nearest-word.ts';
import { collections } from './collections.ts';
import { conversions } from './conversions.ts';
import { addresses } from './addresses.ts';
import { encodings } from './encodings.ts';
import { files } from './files.ts';
import { numbers } from './numbers.ts';
import { refusedFunctions } from './refused.ts';
import { regexes } from './regex.ts';
import { texts } from './texts.ts';
import { times } from './times.ts';
import { yamls } from './yaml.ts';
import { ExpressionError, type Span } from '../syntax.ts';
import { composedIn, ConversionError, isWhole, unknown, type Value } from '../values.ts';
import type { FunctionContext, FunctionRow } from './function-row.ts';
import { parseBytes } from '../../../../../server/api/text/byte-size.ts';
import { text } from './arguments.ts';

/** Functions of the gantry provider: sizes as numbers, references to images as sources. */
function size(source: string): number {
  const bytes = source === '' ? undefined : parseBytes(source);
  if (bytes !== undefined && Number.isSafeInteger(bytes)) return bytes;
  throw new ConversionError(`${JSON.stringify(source)} is no size: write a number and a unit, such as 512MB or 2GiB`);
}

/** The source of a container, in the form of the provider's function. */
const members =
  'type alias fingerprint server protocol certificate mode source snapshot container_only file allow_host_access sha256'.split(
    ' ',
  );

function imageSource(reference: string): Value {
  const remote = /^(https:\/\/[^/\s]+)\/(\S+)$/.exec(reference);
  const image = remote?.[2] ?? reference;
  if (image === '' || /\s/.test(image) || (remote === null && reference.includes('://')))
    throw new ConversionError(
      `${JSON.stringify(reference)} names no image: write an alias, a fingerprint, or https://host:port/alias`,
    );
  return {
    ...Object.fromEntries(members.map((name) => [name, null])),
    type: 'image',
    ...(/^[0-9a-f]{12,64}$/.test(image) ? { fingerprint: image } : { alias: image }),
    ...(remote === null ? {} : { server: remote[1] ?? '', protocol: 'lxd', mode: 'pull' }),
  };
}

const ownFunctions: Readonly<Record<string, FunctionRow>> = {
  'provider::gantry::parse_size': { least: 1, max: 1, run: (args) => size(text(args, 0)) },
  'provider::gantry::image_reference': { least: 1, max: 1, run: (args) => imageSource(text(args, 0)) },
};

export { type FunctionContext, type FunctionRow } from './function-row.ts';

const table: Readonly<Record<string, FunctionRow>> = {
  ...texts,
  ...regexes,
  ...numbers,
  ...collections,
  ...conversions,
  ...encodings,
  ...yamls,
  ...times,
  ...addresses,
  ...files,
  ...ownFunctions,
};

/** Functions whose arguments may fail. */
const lazy: ReadonlySet<string> = new Set(['try', 'can']);
export const isLazyFunction = (name: string): boolean => lazy.has(name);

export const functionNames: readonly string[] = [...Object.keys(table), ...lazy].sort();

/** `name` as it is written: `core::upper` is `upper`. */
export function callFunction(written: string, args: readonly Value[], span: Span, context: FunctionContext): Value {
  const name = written.replace(/^core::/, '');
  const row = Object.hasOwn(table, name) ? table[name] : undefined;
  if (row === undefined) throw noFunction(name, span);
  if (args.length < row.least || (row.max !== undefined && args.length > row.max)) {
    throw new ExpressionError('E_TYPE', `${name}() takes ${countText(row)}, not ${args.length}`, span);
  }
  const empty = row.takesNull === true ? -1 : args.indexOf(null);
  if (empty >= 0) throw new ExpressionError('E_VALUE', `${name}(): argument ${empty + 1} is null`, span);
  const isReady = row.passesElements === true ? !args.includes(unknown) : args.every(isWhole);
  if (row.seesUnknown !== true && !isReady) return unknown;
  try {
    return composedIn(row.run(args, context));
  } catch (error) {
    if (error instanceof ConversionError) throw new ExpressionError('E_VALUE', `${name}(): ${error.message}`, span);
    // Text or a list beyond what JavaScript can hold.
    if (error instanceof RangeError) throw new ExpressionError('E_VALUE', `${name}(): the value is too large`, span);
    throw error;
  }
}

function noFunction(name: string, span: Span): ExpressionError {
  const reason = Object.hasOwn(refusedFunctions, name) ? refusedFunctions[name] : undefined;
  const code = name.startsWith('provider::') ? 'E_PROVIDER_FUNCTION' : 'E_FUNCTION';
  const why = reason === undefined ? hint(name, functionNames) : `: ${reason}`;
  return new ExpressionError(code, `the function ${name} is not evaluated${why}`, span);
}

function countText({ least, max }: FunctionRow): string {
  if (max === undefined) return `at least ${least} arguments`;
  return least === max ? `${least} argument${least === 1 ? '' : 's'}` : `${least} to ${max} arguments`;
}
