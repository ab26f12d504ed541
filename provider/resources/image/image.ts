// gantry_image: an image in the store of the server, from files here, a URL, another server, a container, or a snapshot of one.
import { listByKind } from '../shared/listing.ts';
import type { Image, ImageCreate } from '../../../server/api/image/image.ts';
import { isNotFound, isRefused } from '../../../server/client/client-error.ts';
import { uploadImage, type ImageUpload } from '../../../server/client/files/image-files.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import type { Link } from '../../connection/link.ts';
import { flag, integer, object, text, textMap, type StateOf, serverDefault } from '../../framework/attribute.ts';
import { DiagnosticError, failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context } from '../../framework/object-type.ts';
import { isMap, type Value } from '../../framework/value.ts';
import {
  fingerprintOf,
  imageSourceAttributes,
  imageSourceProblems,
  importedSource,
  isContentUnknown,
  isSameImageSource,
  mayBeFile,
  remoteSource,
  type ImageSource,
} from './image-source.ts';
import { inTurn } from '../container/container-queue.ts';
import { imagesBefore, removeOwn, useFound } from './image-ownership.ts';
import { architectureName } from '../../../server/api/image/architectures.ts';
import { nonEmpty, readMap, sameMap } from '../shared/config-maps.ts';
import { parseImportId } from '../shared/import-ids.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { gantryResource } from '../shared/common-attributes.ts';
import { differing, edit, editOf, hasUnknownOutcome, keepEtag, perform, performCreate } from '../shared/write.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const attributes = {
  source: object(imageSourceAttributes, {
    doc: 'Source of the image. Another source, or changed content of a file, replaces the image.',
    same: isSameImageSource,
  }),
  properties: textMap({
    doc: 'Properties. Default: those of its metadata.',
    ...serverDefault,
    same: sameMap,
  }),
  public: flag({ doc: 'Whether untrusted clients may fetch it.', default: false }),
  auto_update: flag({ doc: 'Whether the server updates it automatically.', default: false }),
  copy_aliases: flag({
    doc: 'remote: whether creation also adds its aliases from there, if they are free. They are deleted with the image.',
    default: false,
  }),
  fingerprint: text({ doc: 'SHA-256 of its files.', computed: true, keep: true }),
  architecture: text({ doc: 'Its architecture.', computed: true, keep: true }),
  size_bytes: integer({ doc: 'Size of its files in bytes.', computed: true, keep: true }),
  created_at: text({ doc: 'Time of creation.', computed: true, keep: true }),
};
type State = StateOf<typeof attributes>;

const readImage = (live: Image, fingerprint: string, before: State['properties']) => ({
  properties: readMap(live.properties ?? {}, before),
  public: live.public,
  auto_update: live.auto_update,
  fingerprint,
  architecture: live.architecture,
  size_bytes: live.size,
  created_at: live.created_at,
});

export const image = gantryResource({
  typeName: 'gantry_image',
  doc: 'An image for containers. Its content is its identity: a changed file is a new image, which replaces this one. If the server already has the image, this resource uses it with a warning and leaves it on destroy; it then deletes only the aliases that it created.',
  attributes,
  identity: ['fingerprint'],
  listing: listByKind('image', {
    identity: 'fingerprint',
    title: ({ aliases, fingerprint }) => aliases[0]?.name ?? fingerprint,
  }),
  timeoutsMs: { create: 60 * 60_000 },
  importing: {
    doc: '`[project/]fingerprint`, with the known members of `source`: `,file=<path>`, `,url=<url>`, `,container=<name>`, `,container=<name>,snapshot=<name>` or `,server=<url>,alias=<alias>`',
    example: '3f53cfe7c9d4a5b21c4e7cdd1c9f3a2e7b45d1b5ff5a4f3fd3bfe7a3d8b0c5aa',
    parse(id) {
      const shape = '[project/]fingerprint[,<member of source>=<value>]';
      const { parts, options, scope } = parseImportId(id, 1, shape, Object.keys(imageSourceAttributes));
      const source = importedSource(options);
      return { fingerprint: parts[0] ?? '', ...scope, ...withoutUndefined({ source }) };
    },
  },
  validate: ({ source }) => imageSourceProblems(source as Value),
  async plan({ prior, planned, replace, add }) {
    const source = planned.source as Value;
    if (isContentUnknown(source)) {
      if (prior !== null && prior.source !== null) replace(at('source'));
      else if (prior !== null && mayBeFile(source)) add(unclear(prior.fingerprint ?? ''));
      return;
    }
    if (!isMap(source)) return;
    const wanted = source as unknown as ImageSource;
    if (wanted.type === 'file') {
      const fingerprint = await fingerprintOf(wanted);
      if (prior !== null && prior.fingerprint !== fingerprint) replace(at('fingerprint'));
      planned.fingerprint = fingerprint;
    } else if (prior !== null && prior.source !== null && !isSameImageSource(prior.source, wanted)) {
      replace(at('source'));
    }
  },
  async read(state, context) {
    const { fingerprint } = state;
    if (fingerprint === null || fingerprint === '') return null;
    const seen = await context.client.reader.read('image', fingerprint, context.signal);
    if (seen === undefined) return null;
    keepEtag(context.privateData, seen);
    return {
      ...readImage(seen.object, seen.object.fingerprint, state.properties),
      copy_aliases: state.copy_aliases ?? false,
    };
  },
  async create({ planned }, context) {
    const { source } = planned;
    if (source === null || source.type !== 'file') return createImage(source, planned, context);
    // Two resources of one file: the second one finds the image of the first.
    const fingerprint = await fingerprintOf(source);
    return inTurn(context.client, `image ${fingerprint}`, () => createImage(source, planned, context));
  },
  async update({ planned }, prior, context) {
    const { fingerprint } = prior;
    if (fingerprint === null) return;
    await edit(
      context,
      editOf(context, 'image', fingerprint, {
        changedSince: (live) =>
          differing(prior, readImage(live, fingerprint, prior.properties), ['properties', 'public', 'auto_update']),
        body: () => propertiesBody(planned),
      }),
    );
  },
  async delete({ fingerprint }, context) {
    if (fingerprint !== null) await removeOwn(context, fingerprint);
  },
});

/** An import without a source is of what the server has: the plan cannot compare it with the file. */
const unclear = (fingerprint: string): Diagnostic =>
  failure(
    `The source of the image ${fingerprint} is known only after apply`,
    'It may be another image than the imported one, which would be replaced. First apply the resource that it comes from (terraform apply -target=<its address>), or write the source as it is known before.',
    at('source'),
  );

const propertiesBody = ({ properties, public: isPublic, auto_update: autoUpdate }: State) => ({
  properties: { ...properties },
  public: isPublic ?? false,
  auto_update: autoUpdate ?? false,
});

async function readBack(
  { client, signal }: Context<Link>,
  fingerprint: string,
  planned: State,
): Promise<Partial<State>> {
  return readImage((await client.client.get('image', fingerprint, signal)).metadata, fingerprint, planned.properties);
}

type Creating = Parameters<typeof performCreate>[0];
type Images = ReadonlyMap<string, Image>;

/** Uses an existing image of the server without sending its files. */
async function createImage(source: ImageSource | null, planned: State, context: Creating): Promise<Partial<State>> {
  if (source === null) {
    const detail = 'To manage an existing image, use terraform import; a new image needs a source.';
    throw new DiagnosticError([failure('The source of the image is missing', detail, at('source'))]);
  }
  const before = await imagesBefore(context);
  const { fingerprint, found } =
    source.type === 'file'
      ? await uploadFiles(source, planned, before, context)
      : await fetchImage(source, planned, before, context);
  try {
    const live = (await context.client.client.get('image', fingerprint, context.signal)).metadata;
    checkArchitecture(source, live);
    if (found !== undefined) await useFound(context, found, live, planned);
    else await writeProperties(context, fingerprint, planned);
  } catch (error) {
    // Nothing else tracks the image: the state cannot keep it, because its fingerprint was unknown in the plan.
    if (found === undefined && source.type !== 'file') await removeHalfMade(context, fingerprint);
    throw error;
  }
  return { fingerprint, ...(await readBack(context, fingerprint, planned)) };
}

/** Also after the time limit of the creation. */
async function removeHalfMade(context: Creating, fingerprint: string): Promise<void> {
  try {
    await removeOwn({ ...context, signal: AbortSignal.timeout(removalMs) }, fingerprint);
  } catch (error) {
    const detail = `Its creation failed, it could not be removed (${reasonOf(error)}), and the state does not have it. Delete it on the server, or manage it with an import block (id = ${JSON.stringify(fingerprint)}).`;
    context.warn(warning(`The image ${fingerprint} may still be on the server`, detail));
  }
}
const removalMs = 20_000;

interface CreatedImage {
  readonly fingerprint: string;
  /** The existing image of others. */
  readonly found: Image | undefined;
}

async function uploadFiles(
  source: ImageSource,
  planned: State,
  before: Images,
  context: Creating,
): Promise<CreatedImage> {
  const { client } = context.client;
  const fingerprint = await fingerprintOf(source);
  const found = before.get(fingerprint);
  if (found !== undefined) return { fingerprint, found };
  const [file, metadata] = [source.file ?? '', nonEmpty(source.metadata)];
  const files: ImageUpload['files'] = metadata === null ? { file } : { metadata, rootfs: file };
  const upload = { files, fingerprint, public: planned.public ?? false };
  try {
    await performCreate(context, () => uploadImage(client.http, upload, context.signal));
    return { fingerprint, found: undefined };
  } catch (error) {
    // Another client sent the image, or the server fetched it for a container, which its list shows like a cached one.
    if (!isRefused(error, 'exists')) throw error;
    return { fingerprint, found: (await client.get('image', fingerprint, context.signal)).metadata };
  }
}

async function fetchImage(
  source: ImageSource,
  planned: State,
  before: Images,
  context: Creating,
): Promise<CreatedImage> {
  const { client } = context.client;
  const body: ImageCreate = {
    public: planned.public ?? false,
    auto_update: planned.auto_update ?? false,
    ...(planned.copy_aliases === true ? { copy_aliases: true } : {}),
    source: remoteSource(source),
  };
  const reply = await imageCreated(context, () => client.create('image', body, {}, context.signal));
  const fingerprint = reply.operation?.metadata?.['fingerprint'];
  if (typeof fingerprint === 'string') return { fingerprint, found: before.get(fingerprint) };
  const detail =
    'The operation succeeded but returned no fingerprint. Find the image in the list of images and import it.';
  throw new DiagnosticError([failure('The server did not return the fingerprint of the image', detail)]);
}

/** After a lost answer the fingerprint is unknown, so the image cannot be looked up. The next apply finds it by its content. */
async function imageCreated<T>(context: Creating, begin: () => Promise<Reply<T>>): Promise<Reply<T>> {
  try {
    return await perform(context, begin);
  } catch (error) {
    if (!hasUnknownOutcome(error)) throw error;
    const detail = 'The answer was lost. If the server has the image, the next apply finds it by its content.';
    throw new DiagnosticError([failure('The image may or may not exist', detail)], error);
  }
}

function checkArchitecture({ architecture, alias, server }: ImageSource, live: Image): void {
  if (nonEmpty(architecture) === null || live.architecture === architectureName(architecture ?? '')) return;
  const detail = `${alias ?? 'It'} of ${server ?? 'the server'} is for ${live.architecture}. Use an alias or a fingerprint of the image for ${architecture}, or leave architecture out.`;
  throw new DiagnosticError([failure(`The image is not for ${architecture}`, detail, at('source', 'architecture'))]);
}

/** Sets the values that an upload or a fetch cannot pass. */
async function writeProperties(context: Context<Link>, fingerprint: string, planned: State): Promise<void> {
  const { client } = context.client;
  if (planned.properties === null && planned.auto_update !== true) return;
  const { metadata: live, etag } = await client.get('image', fingerprint, context.signal).catch((error: unknown) => {
    if (isNotFound(error)) throw new Error(`The image ${fingerprint} vanished after it was created`, { cause: error });
    throw error;
  });
  const body = { ...propertiesBody(planned), properties: { ...(planned.properties ?? live.properties) } };
  await perform(context, () =>
    client.put('image', fingerprint, body, etag === undefined ? {} : { ifMatch: etag }, context.signal),
  );
}
