// Starts a container, and records one that was found running.
import { join } from 'node:path';
import { access, constants, mkdir } from 'node:fs/promises';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import type { RunConfig, IdMapEntry } from '../../../drivers/runtime/driver.ts';
import type { StateDeps } from '../shared/state-deps.ts';
import { evacuateKeys } from '../shared/evacuate-keys.ts';
import { applyTemplates, withoutTemplateTrigger } from '../files/apply-templates.ts';
import { checkpointDirOf, checkpointLogName, needCheckpoints } from '../shared/checkpoint.ts';
import { containerUrl, plainName, projectOf } from '../../../api/project/project-names.ts';
import { logFailure } from '../../../lib/log.ts';
import { fileError } from '../../../lib/shared/error-code.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { inSpan } from '../../../lib/shared/spans.ts';
import { AppError, errors } from '../../../api/errors.ts';
import { hostVolumes, type HostVolumes } from '../../storage/host-volumes.ts';
import { whileVolumesStay } from '../../storage/volume-use.ts';
import { keepAddresses } from '../devices/keep-addresses.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import { statusCodes } from '../../../api/status.ts';
import { dropCheckpoint } from './container-drop-state.ts';
import { toAppError } from '../../shared/translate-errors.ts';
import { warnedContainer } from '../../warnings/warned-objects.ts';
import { checkDisks, shownPaths } from '../../limits/host-paths.ts';
import { checkUnprivileged } from '../../limits/unprivileged-guard.ts';
import { isPresent } from '../../../api/devices/index.ts';
import type { DeviceRun } from '../../../drivers/devices/device.ts';
import type { HostPaths } from '../../../drivers/devices/host-paths.ts';
import { nicNetwork, type ExpandedSettings } from '../../shared/expand.ts';
import { deviceRuns, volatileKeys } from '../devices/prepare-devices.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

const powerKey = 'volatile.last_state.power';
const lostFiles =
  'Its files may be empty or missing: the host went down before they were on the disk. Delete it and create or copy it again';

/** The caller holds the container's lock. `stateful`: starts from its checkpoint, which any other start removes. */
export async function startNow(
  deps: StateDeps,
  caller: Caller,
  name: string,
  signal: AbortSignal,
  stateful = false,
): Promise<void> {
  if (deps.runtime.probe(name).status !== 'stopped')
    throw errors.badRequest(`The container ${name} is already running`);
  deps.runtime.expectStart?.();
  await deps.sagas.finishUndoHeld('containers', name);
  const found = readyContainer(deps.records, name);
  checkMayRun(deps, found);
  if (stateful) await needStored(deps, found);
  else {
    await dropCheckpoint(deps, name);
    await deps.snapshotAtStart(name, signal);
  }
  await whileVolumesStay(deps, name, () => startWith(deps, name, signal, stateful)).catch((error: unknown) => {
    if (!deps.warnings.isOpen('unsyncedFiles', warnedContainer(deps.records, name))) throw error;
    throw new AppError(toAppError(error).code, `${errorText(error)}. ${lostFiles}`);
  });
  for (const type of ['autostart', 'lostMemberStart'] as const)
    deps.warnings.over(type, warnedContainer(deps.records, name));
  if (stateful)
    await dropCheckpoint(deps, name).catch(
      afterwards(deps, name, `removing the used checkpoint of ${name}`, () => dropCheckpoint(deps, name)),
    );
  // Real system section 6: a container that resumes from its state emits no start event.
  else deps.events.lifecycle('container-started', containerUrl(name), caller);
}

const makeLogDir = async ({ logsDir }: Pick<StateDeps, 'logsDir'>, name: string): Promise<string> => {
  const logDir = join(logsDir, name);
  await mkdir(logDir, { recursive: true, mode: 0o700 });
  return logDir;
};

/** For a restart, which must not stop what it cannot start. Throws if the log directory cannot be written. */
export async function needLogDir(deps: Pick<StateDeps, 'logsDir'>, name: string): Promise<void> {
  try {
    await access(await makeLogDir(deps, name), constants.W_OK);
  } catch (cause) {
    const what = `The container ${name} cannot be restarted, and runs on: its log directory ${join(deps.logsDir, name)} cannot be written`;
    throw errors.internal(errorText(fileError(what, cause)), cause);
  }
}

/** Its devices and addresses are those that are recorded now. */
async function startWith(deps: StateDeps, name: string, signal: AbortSignal, stateful: boolean): Promise<void> {
  await keepAddresses(deps.records, name, deps.view.expanded(readyContainer(deps.records, name)).devices);
  const devices = await deps.hosts.reserveDevices(name);
  const idmap = await deps.idMaps.mapForStart(name);
  const entry = readyContainer(deps.records, name);
  await deps.view.during(name, statusCodes.starting, async () => {
    const logDir = await makeLogDir(deps, name);
    const rootfs = rootfsOf(deps, name, entry.document.pool);
    checkDisks(deps.records, name, deps.view.expanded(entry).devices);
    const prepared = await prepareRun(
      entry,
      { ...deps.view.expanded(entry), devices },
      {
        rootfs,
        logDir,
        volumes: hostVolumes(deps, name),
        idmap,
        fileMaps: deps.idMaps.fileMapsOf(entry.document),
        shownPaths: shownPaths(deps.records, name),
        ...withoutUndefined({ host: deps.paths }),
      },
    );
    if (!stateful) await applyTemplates(deps, entry, rootfs, signal);
    const run = { ...prepared.run, mounts: [...prepared.run.mounts, ...deps.guests.mounts(entry)] };
    await deps.guests.whileStarting(entry, () =>
      deps.hosts.whileStarting(name, prepared.networks, () =>
        deps.fencing.whileStarting(name, (limits) => launch(deps, entry, { ...run, ...limits }, stateful, signal)),
      ),
    );
    await followStart(deps, name, prepared);
    await volatileOf(deps, prepared, entry)
      .then((volatile) => remember(deps, name, volatile))
      .catch(afterwards(deps, name, `recording that ${name} runs`, rememberFoundRunning));
  });
}

/** What cannot be done after a start, with a full disk for example, is tried again while the container runs: it has started nevertheless. */
const afterwards =
  (
    deps: StateDeps,
    name: string,
    what: string,
    work: (deps: StateDeps, entry: ContainerEntry) => Promise<void>,
  ): ((reason: unknown) => void) =>
  (reason) => {
    const whileRunning = (): Promise<void> =>
      deps.locks.run(lockOf(name), async () => {
        const entry = deps.records.containers.get(name);
        const isRunning = entry?.document.lifecycle === 'ready' && deps.runtime.probe(name).status !== 'stopped';
        if (isRunning) await work(deps, entry);
      });
    deps.sagas.tryLater(what, whileRunning, reason);
  };

/** Throws AppError forbidden for a privileged container on a daemon for unprivileged ones only. */
export function checkMayRun(deps: Pick<StateDeps, 'unprivilegedOnly' | 'view'>, entry: ContainerEntry): void {
  if (deps.unprivilegedOnly) checkUnprivileged(entry.name, deps.view.expanded(entry).config);
}

async function needStored(deps: StateDeps, { name, document }: ContainerEntry): Promise<void> {
  if (!document.stateful) throw errors.badRequest(`The container ${name} has no checkpoint to start from`);
  await needCheckpoints(deps.runtime, `Restoring the checkpoint of ${name}`);
}

async function launch(
  deps: StateDeps,
  { name, document }: ContainerEntry,
  run: RunConfig,
  stateful: boolean,
  signal: AbortSignal,
): Promise<{ readonly initPid: number }> {
  const attributes = { 'gantry.container': plainName(name), 'gantry.project': projectOf(name) };
  const of = { attributes: { ...attributes, 'gantry.runtime': deps.runtime.name } };
  if (!stateful) return inSpan('start container', of, () => deps.runtime.start(run, signal));
  const able = await needCheckpoints(deps.runtime, `Restoring the checkpoint of ${name}`);
  const dir = checkpointDirOf(deps, { name, pool: document.pool });
  const logFile = join(run.logDir, checkpointLogName('restore', deps.clock.nowMs()));
  return inSpan('restore container', of, () => able.restore(run, { dir, logFile }, signal));
}

/** Stops a container whose forwarders cannot be opened. */
async function followStart(deps: StateDeps, name: string, prepared: PreparedRun): Promise<void> {
  try {
    await deps.running.started(name, prepared.devices);
  } catch (error) {
    await deps.runtime
      .stop(name, { force: true }, new AbortController().signal)
      .catch(logFailure(deps.log, `Stopping ${name}, whose devices could not be opened,`));
    throw error;
  }
}

const volatileOf = async (
  deps: StateDeps,
  { run, volatile }: Pick<PreparedRun, 'volatile'> & { readonly run: Pick<PreparedRun['run'], 'idmap'> },
  { name, document }: ContainerEntry,
): Promise<Readonly<Record<string, string>>> => {
  const { runtime } = deps;
  const isMapped = (await runtime.mapsFilesAt?.(rootfsOf(deps, name, document.pool))) ?? runtime.rootfsIdmapped;
  return { ...volatile, [powerKey]: 'RUNNING', ...deps.idMaps.volatileOf(run.idmap, document, isMapped) };
};

const rootfsOf = (deps: Pick<StateDeps, 'pools'>, name: string, pool: string): string =>
  join(deps.pools.volumePath(pool, { type: 'container', name }), 'rootfs');

/** Records a container whose daemon died after starting it. If a device can no longer be examined, records only the power state. */
export async function rememberFoundRunning(deps: StateDeps, entry: ContainerEntry): Promise<void> {
  const volatile = await volatileOfFound(deps, entry).catch((error: unknown) => {
    deps.log.error(`The devices of ${entry.name}, which was found running, cannot be recorded: ${errorText(error)}`);
    return volatileOf(deps, { run: { idmap: deps.idMaps.mapOf(entry.document) }, volatile: {} }, entry);
  });
  await remember(deps, entry.name, volatile);
}

async function volatileOfFound(deps: StateDeps, entry: ContainerEntry): Promise<Readonly<Record<string, string>>> {
  const prepared = await prepareRun(entry, deps.view.expanded(entry), {
    rootfs: '',
    logDir: '',
    volumes: hostVolumes(deps, entry.name, true),
    idmap: deps.idMaps.mapOf(entry.document),
    fileMaps: [],
    ...withoutUndefined({ host: deps.paths }),
  });
  return volatileOf(deps, prepared, entry);
}

async function remember(deps: StateDeps, name: string, volatile: Readonly<Record<string, string>>): Promise<void> {
  await deps.records.retry((changes) => {
    const { document } = readyContainer(deps.records, name);
    changes.put('containers', name, {
      ...document,
      lastUsedAt: deps.clock.timestamp(),
      config: { ...withoutNotes(document.config), ...volatile },
    });
  });
}

/** The config without the marks for this start. */
const withoutNotes = (config: ConfigMap): ConfigMap =>
  Object.fromEntries(Object.entries(withoutTemplateTrigger(config)).filter(([key]) => key !== evacuateKeys.power));

interface RunPaths {
  readonly rootfs: string;
  readonly logDir: string;
  readonly volumes: HostVolumes;
  readonly idmap: readonly IdMapEntry[];
  /** Id maps that the root file system's files may have on disk; undefined: unknown. */
  readonly fileMaps: readonly (readonly IdMapEntry[])[] | undefined;
  /** Default: the host of this process. */
  readonly host?: HostPaths;
  /** Host directories that disks may show. Absent: any. */
  readonly shownPaths?: readonly string[] | undefined;
}

interface PreparedRun {
  readonly run: RunConfig;
  /** By device name. */
  readonly devices: ReadonlyMap<string, DeviceRun>;
  /** volatile.* keys to keep once it runs. */
  readonly volatile: ConfigMap;
  readonly networks: readonly string[];
}

/** Turns a stored container into the plain data a runtime starts from: devices resolved, ids mapped, paths known. */
async function prepareRun(entry: ContainerEntry, expanded: ExpandedSettings, paths: RunPaths): Promise<PreparedRun> {
  const { name, document } = entry;
  const { rootfs, volumes, host, shownPaths } = paths;
  const options = { rootfs, volumes, shownPaths, ...withoutUndefined({ host }) };
  const runs = await deviceRuns(document, expanded, options);
  const all = [...runs.values()];
  return {
    run: {
      name,
      hostname: plainName(name),
      rootfs: paths.rootfs,
      logDir: paths.logDir,
      architecture: document.architecture,
      idmap: paths.idmap,
      ...withoutUndefined({ fileMaps: paths.fileMaps }),
      config: expanded.config,
      nics: all.flatMap((one) => one.nics),
      mounts: all.flatMap((one) => one.mounts),
      nodes: all.flatMap((one) => one.nodes),
      diskRates: all.flatMap((one) => one.diskRates),
      properties: Object.fromEntries(Object.entries(expanded.devices).filter(([, one]) => isPresent(one))),
    },
    devices: runs,
    volatile: volatileKeys(runs),
    networks: Object.values(expanded.devices).flatMap((device) => nicNetwork(device) ?? []),
  };
}
