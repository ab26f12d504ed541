// gantry_image of a Terraform configuration as a document: its files, or the source from which the server fetches it.
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { Value } from '../expression/values.ts';
import { longestTimeout } from './longest-timeout.ts';
import { ArgumentError, same, withoutNull, type Arguments, type ObjectType } from './resource-type.ts';
import { resourceFacts } from './schema-facts.ts';

const facts = resourceFacts('gantry_image');

/** Image documents get the name of their resource: the server identifies images by fingerprint only. */
const resourceName = (_values: Readonly<Record<string, Value>>, name: string): Value => name;

export const image: ObjectType = {
  kind: 'image',
  ...facts,
  computed: { ...facts.computed, id: resourceName, fingerprint: resourceName },
  document: (args, name) => ({
    name,
    ...withoutAliases(args),
    ...same('public', 'auto_update', 'properties')(args),
    ...imageFilesOf(args['source']),
  }),
  // Written properties replace those of the image's metadata.
  manage: (args) => ({ ...(isMap(args['properties']) ? { mode: 'exact' } : {}), ...longestTimeout(args) }),
  writtenAs: () => ({
    file: 'source.file',
    metadata: 'source.metadata',
    rootfs: 'source.file',
    'manage.timeout': 'timeouts',
  }),
};

function withoutAliases(args: Arguments): JsonObject {
  if (args['copy_aliases'] === true)
    throw new ArgumentError('copy_aliases', 'copy_aliases: declare each alias as gantry_image_alias');
  return {};
}

function imageFilesOf(source: Json | undefined): JsonObject {
  if (!isMap(source)) return {};
  const { type = 'file', file, metadata, ...others } = withoutNull(source);
  if (type === 'remote') return { source: { type: 'image', ...others } };
  if (type === 'url') return { source: { type: 'url', ...others } };
  if (type !== 'file' || file === undefined || Object.keys(others).length > 0) {
    const message = 'from Terraform JSON images are made of files (type file, with file and metadata), url or remote';
    throw new ArgumentError('source', message);
  }
  return metadata === undefined ? { file } : { metadata, rootfs: file };
}
