// Rebuilds a container: renames the old one and removes its network cards, so that the new one can have the same addresses. When the
// new one is ready, deletes the old one. After a failure, restores the old one. Recognizes each stage from the live containers, so that
// the next run continues an interrupted rebuild.
import type { Container, ContainerPut, ContainerCreate } from '../../../server/api/container/container.ts';
import { isNic } from '../../../server/api/devices/index.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { mapOf, textOf } from '../../core/documents/json-values.ts';
import {
  asideKey,
  asideName,
  configBefore,
  keptConfig,
  readAside,
  type AsideNote,
} from '../../core/live/image-updates.ts';
import { withOwnership } from '../../core/ownership/owner-records.ts';
import type { RebuildStep, Step } from '../../core/plan/plan.ts';
import { targetPart } from './create.ts';
import { hasRun } from './run-exec.ts';
import { sendAndWait, StaleError, type Note, type StepContext } from './context.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

export async function rebuild(
  context: StepContext,
  step: RebuildStep,
  runThen: (step: Step) => Promise<Note>,
  signal: AbortSignal,
): Promise<Note> {
  const aside = asideName(step.name);
  const [old, kept] = [await read(context, step.name, signal), await read(context, aside, signal)];
  if (kept === undefined) {
    if (old === undefined) throw new StaleError('it no longer exists');
    await standAside(context, step, old, signal);
  } else if (kept.config[asideKey] === undefined) {
    throw new StaleError(`a container ${aside} exists, but the old container needs this name during the rebuild`);
  }
  /** What an interrupted run made. */
  const made = kept === undefined ? undefined : old;
  const isResumed = made !== undefined && isMadeFrom(made, step);
  try {
    if (made !== undefined && !isResumed) await remove(context, step.name, made, signal);
    if (!isResumed) await create(context, step, signal);
    for (const one of step.afterwards) {
      // The interrupted run may have run it.
      if (isResumed && one.action === 'exec' && (await hasRun(context, { ...one, name: step.name }, signal))) continue;
      context.onProgress(`${one.action} of the new container`);
      await runThen(one);
    }
  } catch (error) {
    await putBack(context, step.name, error);
    throw new Error(`${reasonOf(error)}; the old container was restored`, { cause: error });
  }
  context.onProgress('deleting the old container');
  await sendAndWait(context, () => context.client.delete('container', aside, signal), signal);
  return undefined;
}

async function read(context: StepContext, name: string, signal: AbortSignal): Promise<Container | undefined> {
  try {
    return (await context.client.get('container', name, signal)).metadata;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** False when the image has moved on since: the new container would have an image that is no longer the declared one. */
function isMadeFrom({ config }: Container, { body }: RebuildStep): boolean {
  const [from, wanted] = [config['volatile.base_image'], textOf(mapOf(body['source'])['fingerprint'])];
  return from === undefined || wanted === undefined || from.startsWith(wanted);
}

async function remove(context: StepContext, name: string, live: Container, signal: AbortSignal): Promise<void> {
  const stopped = { action: 'stop', force: true } as const;
  if (isUp(live)) await sendAndWait(context, () => context.client.putContainerState(name, stopped, signal), signal);
  await sendAndWait(context, () => context.client.delete('container', name, signal), signal);
}

const isUp = ({ status_code: code }: Container): boolean => code !== statusCodes.stopped && code !== statusCodes.error;

async function standAside(context: StepContext, step: RebuildStep, old: Container, signal: AbortSignal): Promise<void> {
  const { client } = context;
  if (isUp(old)) {
    context.onProgress('stopping the old container');
    await stop(context, step.name, step.graceMs, signal);
  }
  const note: AsideNote = { devices: old.devices, config: keptConfig(old.config), isRunning: isUp(old) };
  // An earlier, interrupted run has already recorded the former state.
  if (old.config[asideKey] === undefined) await edit(context, step.name, (live) => withNote(live, note), signal);
  await sendAndWait(context, () => client.rename('container', step.name, asideName(step.name), signal), signal);
}

async function stop(context: StepContext, name: string, graceMs: number, signal: AbortSignal): Promise<void> {
  const { client } = context;
  const timeout = Math.max(1, Math.ceil(graceMs / 1000));
  try {
    await sendAndWait(context, () => client.putContainerState(name, { action: 'stop', timeout }, signal), signal);
  } catch {
    signal.throwIfAborted();
    await sendAndWait(context, () => client.putContainerState(name, { action: 'stop', force: true }, signal), signal);
  }
}

/** Removes the network cards, so that no address is used twice, and disables autostart. */
function withNote(live: Container, note: AsideNote): Pick<Container, 'config' | 'devices'> {
  const cards = Object.entries(live.expanded_devices).filter(([, device]) => isNic(device));
  return {
    config: { ...live.config, 'boot.autostart': 'false', [asideKey]: JSON.stringify(note) },
    devices: { ...live.devices, ...Object.fromEntries(cards.map(([name]) => [name, { type: 'none' }])) },
  };
}

const withoutNote = (live: Container): Pick<Container, 'config' | 'devices'> => ({
  config: configBefore(live),
  devices: readAside(live).devices as Container['devices'],
});

async function edit(
  context: StepContext,
  name: string,
  change: (live: Container) => Pick<Container, 'config' | 'devices'>,
  signal: AbortSignal,
): Promise<void> {
  const { metadata: live, etag } = await context.client.get('container', name, signal);
  const { architecture, ephemeral, profiles, description } = live;
  const body: ContainerPut = { architecture, ephemeral, profiles, description, ...change(live) };
  const write = etag === undefined ? {} : { ifMatch: etag };
  await sendAndWait(context, () => context.client.put('container', name, body, write, signal), signal);
}

async function create(context: StepContext, step: RebuildStep, signal: AbortSignal): Promise<void> {
  context.onProgress('creating the new container');
  const body: JsonObject =
    context.hash === undefined ? step.body : withOwnership('container', step.body, step.owner, context.hash);
  await sendAndWait(
    context,
    () => context.client.create('container', body as unknown as ContainerCreate, targetPart(step), signal),
    signal,
  );
}

/** Runs also after a cancellation: a missing container is worse than a short delay. */
async function putBack(context: StepContext, name: string, cause: unknown): Promise<void> {
  const limit = AbortSignal.timeout(120_000);
  const aside = asideName(name);
  context.onProgress('restoring the old container');
  try {
    const made = await read(context, name, limit);
    if (made !== undefined) await remove(context, name, made, limit);
    const kept = await read(context, aside, limit);
    if (kept === undefined) return;
    await sendAndWait(context, () => context.client.rename('container', aside, name, limit), limit);
    // In this order: real LXD generates an address for a restored card, and accepts the old address only afterwards.
    await edit(context, name, (live) => ({ config: live.config, devices: withoutNote(live).devices }), limit);
    await edit(context, name, withoutNote, limit);
    if (!readAside(kept).isRunning) return;
    await sendAndWait(context, () => context.client.putContainerState(name, { action: 'start' }, limit), limit);
  } catch (error) {
    const why = reasonOf(error);
    const first = reasonOf(cause);
    const message = `${first}; the old container could not be restored and is still named ${aside}: ${why}`;
    throw new Error(message, { cause: error });
  }
}
