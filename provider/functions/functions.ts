// The functions of the provider: sizes to numbers, references of images to sources. Pure.
import { parseBytes } from '../../server/api/text/byte-size.ts';
import { objectType } from '../framework/attribute.ts';
import { FunctionError, type ProviderFunction } from '../framework/provider.ts';
import { sourceAttributes } from '../resources/container/container-attributes.ts';
import { parseImageReference } from '../resources/container/container-state.ts';

const parseSize: ProviderFunction = {
  name: 'parse_size',
  summary: 'Bytes of a size',
  doc: 'Converts a size such as `512MB` (powers of 1000) or `2GiB` (powers of 1024) to bytes.',
  parameters: [{ name: 'size', type: 'string', doc: 'The size.' }],
  returns: 'number',
  call([size]) {
    const bytes = typeof size === 'string' && size !== '' ? parseBytes(size) : undefined;
    if (bytes !== undefined && Number.isSafeInteger(bytes)) return bytes;
    throw new FunctionError(`${JSON.stringify(size)} is no size: write a number and a unit, such as 512MB or 2GiB`, 0);
  },
};

const imageReference: ProviderFunction = {
  name: 'image_reference',
  summary: 'The source that an image reference names',
  doc: 'Turns `debian/12` (an alias), a fingerprint, or `https://host:8443/debian/12` (an alias on another server) into a `source` of `gantry_container`.',
  parameters: [{ name: 'reference', type: 'string', doc: 'The reference.' }],
  returns: objectType(sourceAttributes),
  call([reference]) {
    const text = typeof reference === 'string' ? reference : '';
    const source = parseImageReference(text);
    if (source !== undefined) return { ...source };
    const forms = 'write an alias, a fingerprint, or https://host:port/alias';
    throw new FunctionError(`${JSON.stringify(text)} names no image: ${forms}`, 0);
  },
};

export const functions: readonly ProviderFunction[] = [imageReference, parseSize];
