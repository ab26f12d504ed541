// Sources of images: their attributes, their checks, and the comparison of two sources.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ImageCreate } from '../../../server/api/image/image.ts';
import { text, type StateOf } from '../../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import { architectureRule } from '../../../server/api/image/architectures.ts';
import { isMap, isUnknown, type Value } from '../../framework/value.ts';
import { oneOf, pemCheck } from '../container/container-attributes.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export const imageSourceAttributes = {
  type: text({
    doc: '`file`, `url`, `remote`, `container` or `snapshot`.',
    required: true,
    check: oneOf('file', 'url', 'remote', 'container', 'snapshot'),
  }),
  file: text({ doc: 'file: path of the image, or of its root file system when `metadata` is given.' }),
  metadata: text({ doc: 'file: path of the metadata of a split image.' }),
  url: text({ doc: 'url: URL from which the server fetches it.' }),
  server: text({ doc: 'remote: URL of the server that has it.' }),
  protocol: text({ doc: 'remote: its protocol.' }),
  certificate: text({
    doc: 'remote: certificate of `server`, as PEM, if no trusted authority signed it.',
    check: pemCheck,
  }),
  alias: text({ doc: 'remote: its alias there.' }),
  fingerprint: text({ doc: 'remote: its fingerprint there.' }),
  architecture: text({
    doc: 'remote: the required architecture of the image, such as `aarch64`. It selects nothing: an image of another architecture is refused.',
    check: architectureRule,
  }),
  container: text({
    doc: 'container: name of the stopped container to publish. snapshot: name of the container of the snapshot, which may run.',
  }),
  snapshot: text({ doc: 'snapshot: name of the snapshot to publish.' }),
} as const;

export type ImageSource = StateOf<typeof imageSourceAttributes>;

const content = ['file', 'metadata', 'url', 'server', 'alias', 'fingerprint', 'container', 'snapshot'] as const;

/** Ignores how the image is fetched (`protocol`, `certificate`) and its check (`architecture`). */
export const isSameImageSource = (before: ImageSource, after: ImageSource): boolean =>
  before.type === after.type &&
  content.every((name) => nonEmpty(before[name] ?? null) === nonEmpty(after[name] ?? null));

/** Whether an apply may turn the source into any other, as another resource makes its file. */
export const isContentUnknown = (source: Value): boolean =>
  isUnknown(source) || (isMap(source) && ['type', ...content].some((name) => isUnknown(source[name] ?? null)));

export const mayBeFile = (source: Value): boolean =>
  !isMap(source) || isUnknown(source['type'] ?? null) || source['type'] === 'file';

/** The source from the options of an import id; undefined when they name none. */
export function importedSource(options: Readonly<Record<string, string>>): ImageSource | undefined {
  const type = Object.entries(needs).find(([, [first = '']]) => first in options)?.[0];
  if (type === undefined) return undefined;
  const members = Object.keys(imageSourceAttributes).map((name) => [name, options[name] ?? null]);
  return { ...(Object.fromEntries(members) as ImageSource), type };
}

export function remoteSource(source: ImageSource): ImageCreate['source'] {
  const pick = (...names: readonly (keyof ImageSource)[]): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const value = nonEmpty(source[name]);
        return value === null ? [] : [[name, value]];
      }),
    );
  switch (source.type) {
    case 'url':
      return { type: 'url', ...pick('url') };
    case 'container':
      return { type: 'container', name: source.container ?? '' };
    case 'snapshot':
      return { type: 'snapshot', name: `${source.container ?? ''}/${source.snapshot ?? ''}` };
    default:
      return { type: 'image', mode: 'pull', ...pick('server', 'protocol', 'certificate', 'alias', 'fingerprint') };
  }
}

const madeLater =
  'Relative paths start at the directory in which Terraform runs. If the same apply makes the file, take its path from an attribute that is known only after apply.';

/** The fingerprint of a split image is the hash of metadata and root file system concatenated. */
export async function fingerprintOf({ file, metadata }: ImageSource): Promise<string> {
  const hash = createHash('sha256');
  for (const path of [metadata, file]) {
    if (nonEmpty(path) === null || path === null) continue;
    try {
      for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    } catch (error) {
      const why = reasonOf(error);
      throw new DiagnosticError(
        [failure(`Cannot read the image file ${path}`, `${why}. ${madeLater}`, at('source'))],
        error,
      );
    }
  }
  return hash.digest('hex');
}

/** The first member names the type in import ids. */
const needs: Readonly<Record<string, readonly string[]>> = {
  file: ['file'],
  url: ['url'],
  remote: ['server'],
  snapshot: ['snapshot', 'container'],
  container: ['container'],
};

export function imageSourceProblems(source: Value): readonly Diagnostic[] {
  if (!isMap(source) || typeof source['type'] !== 'string') return [];
  const { type } = source;
  const missing = (needs[type] ?? []).filter((member) => source[member] === null || source[member] === '');
  return missing.map((member) =>
    failure(`source.${member} is missing`, `A source of type ${type} needs it.`, at('source', member)),
  );
}
