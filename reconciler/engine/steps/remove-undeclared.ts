// Removes undeclared parts that a new object inherited: keys and devices of a copied container, properties from an image's metadata.
// Keys of the server stay.
import type { ContainerPut } from '../../../server/api/container/container.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { asText, mapOf } from '../../core/documents/json-values.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { sendAndWait, type StepContext } from './context.ts';

const textsOf = (map: JsonObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, asText(value)]));

/** `body`: the body of the request, with the owner's record. */
export async function keepOnlyWritten(
  context: StepContext,
  step: CreateStep,
  body: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  const { client } = context;
  const { metadata: live, etag } = await client.get('container', step.name, signal);
  const { isComputed } = coreKind('container');
  const own = Object.entries(live.config).filter(([key]) => isComputed(['config', key]));
  const put: ContainerPut = {
    architecture: live.architecture,
    ephemeral: live.ephemeral,
    profiles: live.profiles,
    config: { ...Object.fromEntries(own), ...textsOf(mapOf(body['config'])) },
    devices: Object.fromEntries(
      Object.entries(mapOf(body['devices'])).map(([name, device]) => [name, textsOf(mapOf(device))]),
    ),
    description: asText(body['description'] ?? ''),
  };
  const write = etag === undefined ? {} : { ifMatch: etag };
  await sendAndWait(context, () => client.put('container', step.name, put, write, signal), signal);
}

/** For an image with a known fingerprint. */
export async function keepOnlyProperties(
  context: StepContext,
  step: CreateStep,
  fingerprint: string,
  signal: AbortSignal,
): Promise<void> {
  const { client } = context;
  const { metadata: live, etag } = await client.get('image', fingerprint, signal);
  const { public: isPublic, auto_update: autoUpdate } = live;
  const put = { public: isPublic, auto_update: autoUpdate, properties: textsOf(mapOf(step.body['properties'])) };
  const write = etag === undefined ? {} : { ifMatch: etag };
  await sendAndWait(context, () => client.put('image', fingerprint, put, write, signal), signal);
}
