// Functions of the gantry provider: sizes as numbers, references to images as sources.
import { parseBytes } from '../../../../../server/api/text/byte-size.ts';
import { ConversionError, type Value } from '../values.ts';
import { text } from './arguments.ts';
import type { FunctionRow } from './function-row.ts';

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

export const ownFunctions: Readonly<Record<string, FunctionRow>> = {
  'provider::gantry::parse_size': { least: 1, max: 1, run: (args) => size(text(args, 0)) },
  'provider::gantry::image_reference': { least: 1, max: 1, run: (args) => imageSource(text(args, 0)) },
};
