// Makes the server fetch an image from another server, or relays it if that server is on a socket. Then checks the fingerprint and
// sets the values of the document.
import type { ImageCreate } from '../../../server/api/image/image.ts';
import { createClient, type Client } from '../../../server/client/client.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Operation } from '../../../server/api/operation.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { sourceName } from '../../core/kinds/image-source.ts';
import { asText, mapOf, textOf } from '../../core/documents/json-values.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { imageExists, reportUpload } from './create-image.ts';
import { keepOnlyProperties } from './remove-undeclared.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export async function createRemoteImage(context: StepContext, step: CreateStep, signal: AbortSignal): Promise<Note> {
  const source = mapOf(step.body['source']);
  const server = textOf(source['server']) ?? '';
  const expected = textOf(source['fingerprint']) ?? '';
  const before = expected === '' ? [] : await context.client.list('image', signal);
  const fingerprint = server.startsWith('unix:')
    ? await carryOver(context, step, source, server, signal)
    : await fetched(context, step, source, signal);
  if (!fingerprint.startsWith(expected)) {
    if (before.every((image) => image.fingerprint !== fingerprint)) await discard(context, fingerprint, signal);
    throw new Error(`${sourceName(source)} is the image ${fingerprint}, expected ${expected}: it has changed there`);
  }
  context.onMade?.(fingerprint);
  await correctFields(context, step, fingerprint, signal);
  if (step.isExact === true) await keepOnlyProperties(context, step, fingerprint, signal);
  return `fingerprint ${fingerprint.slice(0, 12)}`;
}

/** Best effort: the wrong fingerprint is the error to report. */
async function discard(context: StepContext, fingerprint: string, signal: AbortSignal): Promise<void> {
  await sendAndWait(context, () => context.client.delete('image', fingerprint, signal), signal).catch(() => undefined);
  signal.throwIfAborted();
}

async function fetched(
  context: StepContext,
  step: CreateStep,
  source: JsonObject,
  signal: AbortSignal,
): Promise<string> {
  const { client } = context;
  const { alias, ...byContent } = source;
  // Servers prefer the alias; here the fingerprint decides.
  const wanted = textOf(source['fingerprint']) === undefined ? { ...source } : byContent;
  const { protocol, ...rest } = wanted;
  const body = {
    ...step.body,
    source: {
      ...rest,
      ...(rest['type'] === 'image' ? { mode: 'pull', protocol: protocol === 'simplestreams' ? protocol : 'lxd' } : {}),
    },
  } as unknown as ImageCreate;
  let last: Operation | undefined;
  const follow: StepContext = {
    ...context,
    onOperation: (operation) => {
      last = operation;
      context.onOperation(operation);
    },
  };
  const reply = await sendAndWait(follow, () => client.create('image', body, {}, signal), signal);
  const found = reply.operation?.metadata?.['fingerprint'] ?? last?.metadata?.['fingerprint'];
  if (typeof found === 'string' && found !== '') return found;
  // Some servers do not return the fingerprint.
  const named = textOf(alias) ?? sourceName(source);
  throw new Error(`the server fetched ${named} but did not return its fingerprint`);
}

/** Relays the image: the socket is on the machine that runs gantry, where the server may have no access. */
async function carryOver(
  context: StepContext,
  step: CreateStep,
  source: JsonObject,
  server: string,
  signal: AbortSignal,
): Promise<string> {
  const from = createClient(server);
  try {
    const fingerprint = await fingerprintAt(from, source, server, signal);
    if (await imageExists(context, fingerprint, signal)) return fingerprint;
    const exported = await from.exportImage(fingerprint, signal);
    const onProgress = (sent: number, total: number): void => reportUpload(context, sent, total);
    const isPublic = step.body['public'] === true;
    await sendAndWait(
      context,
      () => context.client.uploadImage({ files: { exported }, fingerprint, public: isPublic, onProgress }, signal),
      signal,
    );
    return fingerprint;
  } finally {
    await from.close();
  }
}

async function fingerprintAt(from: Client, source: JsonObject, server: string, signal: AbortSignal): Promise<string> {
  const alias = textOf(source['alias']);
  const [kind, name] =
    alias === undefined ? (['image', textOf(source['fingerprint']) ?? ''] as const) : (['image_alias', alias] as const);
  try {
    const { metadata } = await from.get(kind, name, signal);
    return 'target' in metadata ? metadata.target : metadata.fingerprint;
  } catch (error) {
    signal.throwIfAborted();
    const why = reasonOf(error);
    throw new Error(isNotFound(error) ? `${server} has no image ${name}` : why, { cause: error });
  }
}

/** Corrects the values of an existing image, which earlier users may have set. */
async function correctFields(
  { client }: StepContext,
  step: CreateStep,
  fingerprint: string,
  signal: AbortSignal,
): Promise<void> {
  const live = await client.get('image', fingerprint, signal);
  const now = live.metadata;
  const properties = Object.fromEntries(
    Object.entries(mapOf(step.body['properties'])).map(([key, value]) => [key, asText(value)]),
  );
  const wanted = {
    public: typeof step.body['public'] === 'boolean' ? step.body['public'] : now.public,
    auto_update: typeof step.body['auto_update'] === 'boolean' ? step.body['auto_update'] : now.auto_update,
    properties: { ...now.properties, ...properties },
  };
  const isSame =
    wanted.public === now.public &&
    wanted.auto_update === now.auto_update &&
    Object.entries(properties).every(([key, value]) => now.properties[key] === value);
  if (isSame) return;
  const write = live.etag === undefined ? {} : { ifMatch: live.etag };
  await client.put('image', fingerprint, wanted, write, signal);
}
