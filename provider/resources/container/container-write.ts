// The steps that create and change a container: the object, restarts, moves, waits and commands.
import type { Container } from '../../../server/api/container/container.ts';
import { type Link } from '../../connection/link.ts';
import type { TextMap } from '../../framework/attribute.ts';
import { DiagnosticError, warning } from '../../framework/diagnostic.ts';
import type { Context, CreateContext } from '../../framework/object-type.ts';
import { type ContainerState, type Source } from './container-attributes.ts';
import { dueCommands, forgetStart, notedCommands, runDueCommands } from './container-commands.ts';
import { writeFiles, type FileMap } from './container-file-map.ts';
import { awaitAddress, startContainer, waitForAll } from './container-power.ts';
import { costOf, expanded, putContainer, readContainer, createBody, unchangedBody } from './container-state.ts';
import { isContainerComputed } from '../shared/common-attributes.ts';
import type { Inherited } from '../shared/inherited.ts';
import { checkDeclaredOnce, separateDeviceNames, withoutApart } from '../shared/separate-devices.ts';
import { writeOnlyNames } from '../../../server/client/facts/write-only-names.ts';
import { moveTo, restartRefused } from './container-place.ts';
import { inTurn } from './container-queue.ts';
import { inherited, readOrigin } from './copy-source.ts';
import { createFromBackup } from './backup-file.ts';
import {
  forgetRestart,
  isRestartPending,
  mayNeedRestart,
  noteRestart,
  restoreNote,
  startOf,
} from './pending-restart.ts';
import { notedRestartKey, withNotedRestart } from '../shared/noted-restart.ts';
import { conflicting, edit, editOf, hasUnknownOutcome, performCreate } from '../shared/write.ts';

export interface WantedContainer {
  readonly planned: ContainerState;
  /** The values of `config_wo` to write; undefined: keeps those on the server. */
  readonly secret: TextMap | undefined;
}

/** Resolves to the source for the new state. */
export async function makeContainer(
  context: CreateContext<Link>,
  { planned, secret }: WantedContainer,
  target: string | undefined,
): Promise<Source | null> {
  const { source } = planned;
  if (source?.type === 'backup') return createFromBackup(context, planned, source, target);
  const body = { ...createBody(planned, secret ?? {}), ...(await inherited(context, planned)) };
  const write = target === undefined ? {} : { target };
  await performCreate(context, () => context.client.client.create('container', body, write, context.signal));
  return source;
}

/** A copy keeps unconfigured config and devices of its source and records their names. A restored backup loses them. */
export async function settleSource(context: Context<Link>, { planned, secret }: WantedContainer): Promise<void> {
  const source = planned.source?.type === 'copy' ? planned.source : undefined;
  // gantryd copies separate devices, but not the record of their names.
  const origin = source === undefined ? undefined : await readOrigin(context, source);
  const atSource = separateDeviceNames(origin?.config ?? {});
  const hidden = writeOnlyNames(origin?.config ?? {}).filter((key) => !Object.hasOwn(planned.config ?? {}, key));
  const change = {
    changedSince: () => [],
    body: (live: Container) => {
      const own = withoutApart(live, atSource);
      const inherited = source === undefined ? nothing : everythingIn(own);
      // Write-only keys of the source are write-only in the copy.
      const kept = Object.entries(own.config).filter(([key]) => hidden.includes(key));
      return putContainer(planned, planned, own, { inherited, secret: { ...Object.fromEntries(kept), ...secret } });
    },
  };
  await edit(context, editOf(context, 'container', planned.name, change));
}

const nothing: Inherited = { config: [], devices: [] };
const everythingIn = ({ config, devices }: Container): Inherited => ({
  config: Object.keys(config).filter((key) => !isContainerComputed(key)),
  devices: Object.keys(devices ?? {}),
});

export interface ChangedContainer {
  readonly before: Container;
  /** An earlier change waits for a restart. */
  readonly isOwed: boolean;
}

/**
 * Writes config, devices and other members. A restart that this may need is noted first, since the write may take effect without an answer,
 * and on the container itself, since the provider may die before its private data is saved.
 */
export async function changeObject(
  context: Context<Link>,
  { planned, secret }: WantedContainer,
  prior: ContainerState,
): Promise<ChangedContainer> {
  const { privateData } = context;
  const earlier = { ...privateData };
  const change = editOf(context, 'container', prior.name, {
    changedSince: (live) =>
      conflicting({ prior, planned }, (state) => readContainer(live, state), [
        'description',
        'profiles',
        'ephemeral',
        'config',
        'devices',
        'snapshots',
      ]),
    body: (live) => {
      checkDeclaredOnce(live, planned.devices);
      const body = putContainer(planned, prior, live, { secret });
      const needsRestart = mayNeedRestart(live, body);
      if (needsRestart) noteRestart(privateData, live);
      return needsRestart || isRestartPending(earlier, live)
        ? { ...body, config: withNotedRestart(body.config, startOf(live)) }
        : body;
    },
  });
  try {
    const before = await inTurn(context.client, prior.name, () => edit(context, change));
    return { before, isOwed: isRestartPending(earlier, before) };
  } catch (error) {
    const isRefused = error instanceof DiagnosticError || !hasUnknownOutcome(error);
    if (isRefused && !context.signal.aborted) restoreNote(privateData, earlier);
    throw error;
  }
}

/** Compares the expanded config and devices, which merge the profiles and its own keys. */
export async function mustRestart(
  context: Context<Link>,
  planned: ContainerState,
  { before, isOwed }: ChangedContainer,
  moves: boolean,
): Promise<boolean> {
  const after = (await context.client.client.get('container', before.name, context.signal)).metadata;
  if (planned.name !== before.name || moves) {
    if (planned.allow_restart !== false) return true;
    throw restartRefused(before.name, moves ? 'moved' : 'renamed');
  }
  const { effect, causes } = costOf(expanded(before), expanded(after));
  if (effect !== 'restart' && !isOwed) {
    forgetRestart(context.privateData);
    if (after.config[notedRestartKey] !== undefined) await dropNote(context, after.name);
    return false;
  }
  noteRestart(context.privateData, before);
  if (planned.allow_restart !== false) return true;
  const what = effect === 'restart' ? causes.join(', ') : 'An earlier change';
  const detail = `${what} will take effect at its next start, since allow_restart is false.`;
  context.warn(warning(`The container ${before.name} was not restarted`, detail));
  return false;
}

/** Removes the note of a restart that turned out not to be needed. */
async function dropNote(context: Context<Link>, name: string): Promise<void> {
  const change = editOf(context, 'container', name, {
    changedSince: () => [],
    body: (live) => ({ ...unchangedBody(live), config: withNotedRestart(live.config, undefined) }),
  });
  await inTurn(context.client, name, () => edit(context, change));
}

/** If the move fails, starts the container again where it is. */
export async function moveOrContinue(
  context: Context<Link>,
  { name }: Container,
  target: string,
  wasStopped: boolean,
): Promise<void> {
  try {
    await moveTo(context, name, target);
  } catch (error) {
    if (wasStopped && !context.signal.aborted) await startContainer(context, name).catch(() => undefined);
    throw error;
  }
}

interface Started {
  /** Files that could not be written before the start. */
  readonly late: FileMap;
  readonly hasStarted: boolean;
  readonly runs?: boolean;
}

export async function afterStart(
  context: Context<Link>,
  planned: ContainerState,
  prior: ContainerState | null,
  { late, hasStarted, runs = planned.running !== false }: Started,
): Promise<Partial<ContainerState>> {
  const { name } = planned;
  if (prior === null && runs) await startContainer(context, name);
  await writeFiles(context, name, { wanted: late, prior: null, willRun: false });
  if (runs && hasStarted) {
    if (planned.wait_for === null) await awaitAddress(context, name);
    else await waitForAll(context, name, planned.wait_for);
  }
  const noted = notedCommands(context, name, planned.exec);
  const due = runs ? dueCommands({ wanted: planned.exec, prior: prior?.exec, hasStarted, noted }) : [];
  const exec = await runDueCommands(context, name, planned.exec, prior?.exec, due);
  forgetStart(context.privateData);
  return { exec };
}
