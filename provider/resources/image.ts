// gantry_image: an image in the store of the server, from files here, a URL, another server, or a container.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Image, ImageCreate } from '../../server/api/image.ts';
import { isNotFound } from '../../server/client/client-error.ts';
import { uploadImage, type ImageUpload } from '../../server/client/images.ts';
import type { Reply } from '../../server/client/reply.ts';
import type { Link } from '../connection/link.ts';
import { flag, integer, object, text, textMap, type StateOf } from '../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/provider.ts';
import { timeoutsAttribute } from '../framework/timeouts.ts';
import { isMap, isUnknown, type Value } from '../framework/value.ts';
import { oneOf } from './container-attributes.ts';
import { parseImportId } from './ids.ts';
import { gantryResource } from './shared.ts';
import {
  differing,
  edit,
  editOf,
  hasUnknownOutcome,
  keepEtag,
  perform,
  performCreate,
  performDelete,
} from './write.ts';

const sourceAttributes = {
  type: text({
    doc: '`file`, `url`, `remote` or `container`.',
    required: true,
    check: oneOf('file', 'url', 'remote', 'container'),
  }),
  file: text({ doc: 'file: path of the image, or of its root file system when `metadata` is given.' }),
  metadata: text({ doc: 'file: path of the metadata of a split image.' }),
  url: text({ doc: 'url: where the server fetches it.' }),
  server: text({ doc: 'remote: URL of the server that has it.' }),
  protocol: text({ doc: 'remote: its protocol.' }),
  alias: text({ doc: 'remote: its alias there.' }),
  fingerprint: text({ doc: 'remote: its fingerprint there.' }),
  container: text({ doc: 'container: name of the stopped container to make it from.' }),
} as const;

const attributes = {
  source: object(sourceAttributes, {
    doc: 'Where it comes from. Another source, or another content of a file, is another image.',
  }),
  properties: textMap({
    doc: 'Properties; those of its metadata are the ones it begins with.',
    optional: true,
    computed: true,
    keep: true,
  }),
  public: flag({ doc: 'Whether clients without trust may fetch it.', default: false }),
  auto_update: flag({ doc: 'Whether the server keeps it current.', default: false }),
  fingerprint: text({ doc: 'SHA-256 of its files.', computed: true, keep: true }),
  architecture: text({ doc: 'Its architecture.', computed: true, keep: true }),
  size_bytes: integer({ doc: 'Bytes of its files.', computed: true, keep: true }),
  created_at: text({ doc: 'When it was made.', computed: true, keep: true }),
  timeouts: timeoutsAttribute,
};
type State = StateOf<typeof attributes>;
type Source = NonNullable<State['source']>;

const readImage = (live: Image, fingerprint: string) => ({
  properties: live.properties ?? {},
  public: live.public,
  auto_update: live.auto_update,
  fingerprint,
  architecture: live.architecture,
  size_bytes: live.size,
  created_at: live.created_at,
});

export const image = gantryResource({
  typeName: 'gantry_image',
  doc: 'An image to make containers from. Its identity is its content: a changed file is a new image, which replaces this one.',
  example: `resource "gantry_image" "base" {
  source = { type = "remote", server = "https://images.example.org:8443", protocol = "lxd", alias = "debian/12" }
}
`,
  version: 0,
  attributes,
  identity: ['fingerprint'],
  timeoutsMs: { create: 60 * 60_000 },
  importing: {
    doc: '`[project/]fingerprint`, with the members of `source` that are known: `,file=<path>`, `,url=<url>`, `,container=<name>` or `,server=<url>,alias=<alias>`',
    example: '3f53cfe7c9d4a5b21c4e7cdd1c9f3a2e7b45d1b5ff5a4f3fd3bfe7a3d8b0c5aa',
    parse(id) {
      const shape = '[project/]fingerprint[,<member of source>=<value>]';
      const { parts, options, scope } = parseImportId(id, 1, shape, Object.keys(sourceAttributes));
      return { fingerprint: parts[0] ?? '', ...sourceOf(options), ...scope };
    },
    id: ({ fingerprint = '' }) => fingerprint,
  },
  validate: ({ source }) => sourceProblems(source as Value),
  async plan({ prior, planned, replace }) {
    const source = planned.source as Value;
    if (!isMap(source) || Object.values(source).some(isUnknown)) return;
    const wanted = source as unknown as Source;
    if (wanted.type === 'file') {
      const fingerprint = await fingerprintOf(wanted);
      if (prior !== null && prior.fingerprint !== fingerprint) replace(at('fingerprint'));
      planned.fingerprint = fingerprint;
    } else if (
      prior !== null &&
      prior.source !== null &&
      JSON.stringify(sorted(prior.source)) !== JSON.stringify(sorted(wanted))
    ) {
      replace(at('source'));
    }
  },
  async read(state, context) {
    const { fingerprint } = state;
    if (fingerprint === null || fingerprint === '') return null;
    const seen = await context.client.reader.read('image', fingerprint, context.signal);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    return readImage(seen.object, seen.object.fingerprint);
  },
  async create({ planned }, context) {
    const { source } = planned;
    if (source === null) {
      const detail = 'An image that exists already is taken over with terraform import; a new one needs a source.';
      throw new DiagnosticError([failure('Where the image comes from is missing', detail, at('source'))]);
    }
    const fingerprint =
      source.type === 'file' ? await uploadFiles(source, planned, context) : await fetchImage(source, planned, context);
    await writeProperties(context, fingerprint, planned);
    return { fingerprint, ...(await readBack(context, fingerprint)) };
  },
  async update({ planned }, prior, context) {
    const { fingerprint } = prior;
    if (fingerprint === null) return;
    await edit(
      context,
      editOf(context, 'image', fingerprint, {
        changedSince: (live) => differing(prior, readImage(live, fingerprint), ['properties', 'public', 'auto_update']),
        body: () => propertiesBody(planned),
      }),
    );
  },
  async delete({ fingerprint }, context) {
    if (fingerprint === null) return;
    await performDelete(context, () => context.client.client.delete('image', fingerprint, context.signal));
  },
});

function sourceOf(options: Readonly<Record<string, string>>): Partial<State> {
  const type = Object.entries(needs).find(([, member]) => member in options)?.[0];
  if (type === undefined) return {};
  const members = Object.keys(sourceAttributes).map((name) => [name, options[name] ?? null]);
  return { source: { ...(Object.fromEntries(members) as Source), type } };
}

const sorted = (source: Source): readonly (readonly [string, unknown])[] =>
  Object.entries(source).toSorted(([a], [b]) => (a < b ? -1 : 1));

const propertiesBody = ({ properties, public: isPublic, auto_update: autoUpdate }: State) => ({
  properties: { ...properties },
  public: isPublic ?? false,
  auto_update: autoUpdate ?? false,
});

async function readBack({ client, signal }: Context<Link>, fingerprint: string): Promise<Partial<State>> {
  return readImage((await client.client.get('image', fingerprint, signal)).metadata, fingerprint);
}

/** The fingerprint of a split image is that of metadata and root file system one after the other. */
async function fingerprintOf({ file, metadata }: Source): Promise<string> {
  const hash = createHash('sha256');
  for (const path of [metadata, file]) {
    if (path === null) continue;
    try {
      for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new DiagnosticError([failure(`Cannot read the image file ${path}`, `${why}.`, at('source'))], error);
    }
  }
  return hash.digest('hex');
}

type Creating = Parameters<typeof performCreate>[0];

async function uploadFiles(source: Source, planned: State, context: Creating): Promise<string> {
  const { client } = context.client;
  const fingerprint = await fingerprintOf(source);
  const files: ImageUpload['files'] =
    source.metadata === null ? { file: source.file ?? '' } : { metadata: source.metadata, rootfs: source.file ?? '' };
  const upload = { files, fingerprint, public: planned.public ?? false };
  await performCreate(context, () => uploadImage(client.http, upload, context.signal));
  return fingerprint;
}

async function fetchImage(source: Source, planned: State, context: Creating): Promise<string> {
  const { client } = context.client;
  const body: ImageCreate = {
    public: planned.public ?? false,
    auto_update: planned.auto_update ?? false,
    source: remoteSource(source),
  };
  const reply = await imageCreated(context, () => client.create('image', body, {}, context.signal));
  const fingerprint = reply.operation?.metadata?.['fingerprint'];
  if (typeof fingerprint === 'string') return fingerprint;
  const detail =
    'The operation ended well without the fingerprint of the image. Find it in the list of images and import it.';
  throw new DiagnosticError([failure('The server did not say which image it made', detail)]);
}

/** Without a fingerprint nothing can be looked up after a lost answer: an image left behind is found by its content next time. */
async function imageCreated<T>(context: Creating, begin: () => Promise<Reply<T>>): Promise<Reply<T>> {
  try {
    return await perform(context, begin);
  } catch (error) {
    if (!hasUnknownOutcome(error)) throw error;
    const detail =
      'The answer was lost. When the server has made the image, the next apply finds the same content there.';
    throw new DiagnosticError([failure('Nobody can tell whether the image was made', detail)], error);
  }
}

function remoteSource(source: Source): ImageCreate['source'] {
  const pick = (...names: readonly (keyof Source)[]): Record<string, string> =>
    Object.fromEntries(names.flatMap((name) => (source[name] === null ? [] : [[name, source[name]]])));
  switch (source.type) {
    case 'url':
      return { type: 'url', ...pick('url') };
    case 'container':
      return { type: 'container', name: source.container ?? '' };
    default:
      return { type: 'image', mode: 'pull', ...pick('server', 'protocol', 'alias', 'fingerprint') };
  }
}

/** Uploads and fetches cannot carry all of it. */
async function writeProperties(context: Context<Link>, fingerprint: string, planned: State): Promise<void> {
  const { client } = context.client;
  if (planned.properties === null && planned.auto_update !== true) return;
  const { metadata: live, etag } = await client.get('image', fingerprint, context.signal).catch((error: unknown) => {
    if (isNotFound(error)) throw new Error(`The image ${fingerprint} vanished after it was made`, { cause: error });
    throw error;
  });
  const body = { ...propertiesBody(planned), properties: { ...(planned.properties ?? live.properties) } };
  await perform(context, () =>
    client.put('image', fingerprint, body, etag === undefined ? {} : { ifMatch: etag }, context.signal),
  );
}

const needs: Readonly<Record<string, string>> = { file: 'file', url: 'url', remote: 'server', container: 'container' };

function sourceProblems(source: Value): readonly Diagnostic[] {
  if (!isMap(source) || typeof source['type'] !== 'string') return [];
  const member = needs[source['type']];
  if (member === undefined || source[member] !== null) return [];
  return [failure(`source.${member} is missing`, `A source of type ${source['type']} needs it.`, at('source', member))];
}
