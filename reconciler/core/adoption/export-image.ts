// Exports an image with the source from which the server fetched it; an image from files gets a comment only.
import type { Image } from '../../../server/api/image/image.ts';
import { addressOf, type Json, type JsonObject } from '../documents/document.ts';
import { asText, isMap, mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { updatedFrom, updateSource } from '../live/image-sources.ts';
import { compareText } from '../text/listing-order.ts';
import { scopedName } from '../text/scoped-name.ts';
import { manageOf, remark, type ExportedObject, type Own } from './exported.ts';

/** A document can declare the source of an image, but not its files: the server does not list those. */
export function exportImage(own: Own, key: string, observed: Observed): ExportedObject {
  const { live, project } = own;
  const image = live as unknown as Image;
  const source = image.cached ? undefined : updateSource({ object: image });
  const scope = project === undefined ? {} : { project };
  if (source === undefined || updatedFrom(scope, source, observed) !== image.fingerprint)
    return imageRemark(key, image.fingerprint, live);
  const fields = ['public', 'auto_update'].flatMap((field) => (live[field] === true ? [[field, true] as const] : []));
  const name = textOf(source['alias']) ?? image.fingerprint.slice(0, 12);
  const manage = manageOf(own);
  return {
    address: addressOf('image', scopedName(name, project)),
    kind: 'image',
    name: scopedName(name, project),
    values: {
      kind: 'image',
      name,
      ...scope,
      source,
      ...Object.fromEntries(fields),
      ...(Object.keys(manage).length === 0 ? {} : { manage }),
    },
    comments: [],
    remarks: [],
  };
}

/** An image document needs the image's file, which the server's list does not contain. */
function imageRemark(key: string, fingerprint: string, live: JsonObject): ExportedObject {
  const properties = mapOf(live['properties']);
  const what = asText(properties['description']) || asText(properties['os']);
  const aliases = (Array.isArray(live['aliases']) ? (live['aliases'] as readonly Json[]) : [])
    .flatMap((alias) => (isMap(alias) ? asText(alias['name']) : []))
    .sort(compareText);
  const of = aliases.length === 0 ? '' : `, known as ${aliases.join(', ')}`;
  const file = aliases[0]?.replaceAll('/', '-') ?? fingerprint.slice(0, 12);
  return remark({ kind: 'image' }, key, [
    `is on the server${what === '' ? '' : ` (${what})`}${of}; an image document is its file: gantry image export ${fingerprint.slice(0, 12)} ${file}`,
  ]);
}
