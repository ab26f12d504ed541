// Starts one container: prepares its files, runs lxc-start, finds its init. On failure it says why and leaves nothing behind.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import { type CgroupTree, groupPids, removeGroup } from '../cgroup/cgroup.ts';
import type { RunConfig } from '../driver.ts';
import type { ExitSpool } from './exit-spool.ts';
import { parseHaltSignal } from './halt-signal.ts';
import { cgroup1Values, cgroup2Values, readLimits } from '../cgroup/limits.ts';
import { renderLxcConfig } from './config.ts';
import { type FileDeps, prepareFiles, unmountFiles } from '../mounts/container-files.ts';
import { findLxcfsFiles } from './host.ts';
import { findApparmor, loadProfile, unloadProfile } from '../apparmor/load.ts';
import { findProgram } from '../host/programs.ts';
import { readHostFacts } from '../cgroup/host-facts.ts';
import { clearAfterFailedStart, findInit, findMonitor, interfaceGone } from './liveness.ts';
import type { ModulePaths } from '../host/kernel-modules.ts';
import { prepareKeys } from './live-keys.ts';
import { applyAfterStart, limitKeys } from '../cgroup/apply-limits.ts';
import { settingsBefore } from './live-devices.ts';
import { firstReason } from './failure-reason.ts';
import { mayBegin, tooLate } from '../guard/start-until.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { nativeOnly } from './native-abi-filter.ts';
import type { NicFilters } from '../nic/filters.ts';
import { checkNicPlaces, markOf, prepareHost, removeShape } from '../nic/plug.ts';
import { readBootId } from '../../../lib/shared/processes.ts';
import {
  cablesOf,
  type DeviceState,
  removeRunningRecord,
  type RunningRecord,
  withProcesses,
  writeRunningRecord,
} from './running-record.ts';
import { deniesCompat, renderSeccomp } from './seccomp.ts';
import { startEnv } from './start-env.ts';
import { ifMissing, textOrNothing } from '../../../lib/shared/missing-files.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface StartDeps extends FileDeps {
  readonly tree: CgroupTree;
  readonly filters: NicFilters;
  readonly modules: ModulePaths | undefined;
  readonly spool: ExitSpool;
  /** The cpus for limits.cpu; undefined: all. */
  readonly cpus: readonly number[] | undefined;
  /** Undefined: lxc-start. */
  readonly launch: Launch | undefined;
}

/** Runs the prepared container. */
export type Launch = (paths: LxcPaths, run: RunConfig) => Promise<void>;

const startTimeoutMs = 60_000;

/** The state is `starting` until the caller has done what LXC does not do itself. */
export async function startContainer(deps: StartDeps, run: RunConfig, signal: AbortSignal): Promise<RunningRecord> {
  const { paths, tree } = deps;
  signal.throwIfAborted();
  await refuseSecondCopy(deps, run);
  deps.spool.discard(paths.key(run.name));
  const intent = intentOf(run);
  try {
    mkdirSync(paths.containerDir(run.name), { recursive: true, mode: 0o700 });
    writeRunningRecord(paths.stateFile(run.name), intent);
    await prepareModules(deps, run);
    await prepareNics(deps, run);
    const apparmorLabel = await prepareApparmor(deps, run);
    const prepared = writeFiles(deps, await prepareFiles(deps, run, signal), apparmorLabel);
    await (deps.launch ?? runLxcStart)(paths, run);
    signal.throwIfAborted();
    const init = findInit(tree, paths.group(run.name));
    const monitor = init && findMonitor(init.pid);
    if (init === undefined || monitor === undefined) {
      throw startFailure(run, 'its init ended at once (see console.log of the container)');
    }
    applyAfterStart(tree, paths.group(run.name), prepared.limits);
    return withProcesses(intent, init, monitor);
  } catch (error) {
    const init = findInit(tree, paths.group(run.name));
    if (init !== undefined) process.kill(init.pid, 'SIGKILL');
    for (const nic of run.nics) {
      await removeShape(nic.hostName).catch(() => {});
      await deps.filters.remove(nic).catch(() => {});
    }
    await clearAfterFailedStart(tree, paths, intent, deps.log);
    unmountFiles(deps, run.name);
    unloadProfile(paths.apparmorName(run.name));
    deps.spool.discard(paths.key(run.name));
    removeRunningRecord(paths.stateFile(run.name));
    throw error;
  }
}

/** The record with which a daemon completes the start after a crash, or undoes it. */
function intentOf(run: RunConfig): RunningRecord {
  const haltSignal = parseHaltSignal(run.config['raw.lxc'] ?? '');
  return {
    name: run.name,
    bootId: readBootId(),
    starting: true,
    initPid: 0,
    initStartTime: 0,
    monitorPid: 0,
    monitorStartTime: 0,
    nics: cablesOf(run),
    limits: limitKeys(run.config),
    devices: deviceState(run, settingsBefore(run.nics)),
    ...withoutUndefined({ haltSignal }),
    ...(filterFor(run).length === 0 ? {} : { nativeOnly: true as const }),
  };
}

/** Two copies on one root file system destroy it, so this asks the kernel, not LXC, which forgets containers without a monitor. */
async function refuseSecondCopy({ tree, paths }: StartDeps, run: RunConfig): Promise<void> {
  const group = paths.group(run.name);
  if (groupPids(tree, group).length > 0 || !removeGroup(tree, group)) {
    throw driverErrors.inUse(`Container "${run.name}" still has processes of an earlier run`);
  }
  // Interfaces of an earlier run vanish by themselves, a moment after its last process.
  for (const hostName of Object.values(cablesOf(run))) await interfaceGone(hostName);
  for (const nic of run.nics) {
    try {
      await checkNicPlaces(nic, undefined);
    } catch (error) {
      throw startFailure(run, errorText(error));
    }
  }
}

async function prepareModules(deps: StartDeps, run: RunConfig): Promise<void> {
  await prepareKeys(deps, run.config).catch((error: unknown) => {
    throw startFailure(run, errorText(error));
  });
}

async function prepareNics({ filters, paths }: StartDeps, run: RunConfig): Promise<void> {
  for (const nic of run.nics) {
    try {
      await prepareHost(nic, markOf(paths.tag));
      await filters.set(nic);
    } catch (error) {
      throw startFailure(run, `device ${nic.device}: ${errorText(error)}`);
    }
  }
}

function deviceState(run: RunConfig, lent: DeviceState['lent']): DeviceState {
  const { nics, mounts, nodes = [], diskRates = [], properties = {}, idmap } = run;
  const parts = { nics, mounts, nodes, diskRates };
  return { idmap, properties, now: parts, atStart: parts, lent };
}

/** The label of its processes; undefined: the kernel has no AppArmor. */
async function prepareApparmor({ paths, log }: StartDeps, run: RunConfig): Promise<string | undefined> {
  const { name, config } = run;
  const raw = config['raw.apparmor'] ?? '';
  const support = findApparmor();
  if (support === 'full') {
    const facts = { privileged: run.idmap.length === 0, nesting: isTrue(config['security.nesting']), raw };
    return loadProfile(paths.apparmorFile(name), { name: paths.apparmorName(name), ...facts }).catch(
      (error: unknown) => {
        throw startFailure(run, errorText(error));
      },
    );
  }
  if (raw !== '') {
    log.warn('raw.apparmor has no effect: this host has no AppArmor, or no apparmor_parser', { container: name });
  }
  if (support === 'absent') return undefined;
  log.warn('the container runs unconfined: there is no apparmor_parser', { container: name });
  return 'unconfined';
}

function writeFiles(
  deps: StartDeps,
  run: RunConfig,
  apparmorLabel: string | undefined,
): { limits: ReturnType<typeof readLimits> } {
  const { paths, tree } = deps;
  if (isTrue(run.config['nvidia.runtime']) && findProgram('nvidia-container-cli') === undefined) {
    throw startFailure(run, 'nvidia.runtime needs the program nvidia-container-cli, which this host lacks');
  }
  const host = readHostFacts(tree);
  const limits = readLimits(run.config, host, deps.cpus);
  const seccomp = renderSeccomp(run.config);
  const config = renderLxcConfig(run, {
    postStopHook: deps.spool.hookCommand(paths.key(run.name)),
    cgroup: { monitor: paths.monitorGroup(run.name), pivot: paths.pivotGroup, container: paths.group(run.name) },
    cgroup1: cgroup1Values(limits, host, false),
    cgroup2: cgroup2Values(limits, false),
    seccompProfile: seccomp === undefined ? undefined : paths.seccompFile(run.name),
    apparmorLabel,
    lxcfsFiles: findLxcfsFiles(),
  });
  if (seccomp !== undefined) writeFileSync(paths.seccompFile(run.name), seccomp, { mode: 0o600 });
  writeFileSync(paths.configFile(run.name), config, { mode: 0o600 });
  mkdirSync(run.logDir, { recursive: true });
  // For users who look for the cause of a failure: LXC itself reads the other one. Truncating a file waits for the disk.
  const shown = `${run.logDir}/lxc.conf`;
  if (textOrNothing(shown) !== config) writeFileSync(shown, config, { mode: 0o600 });
  emptyLog(run);
  return { limits };
}

/** Makes the first error in it one of this start. */
function emptyLog(run: RunConfig): void {
  try {
    truncateSync(`${run.logDir}/lxc.log`);
  } catch (error) {
    ifMissing(error);
  }
}

/** Arguments before the command line that starts the container. */
const filterFor = (run: RunConfig): readonly string[] => (deniesCompat(run.config) ? nativeOnly() : []);

async function runLxcStart(paths: LxcPaths, run: RunConfig): Promise<void> {
  const start = [...filterFor(run), findProgram('lxc-start') ?? 'lxc-start'];
  const argv = [...start, '-P', paths.lxcPath, '-n', paths.key(run.name), '-d'];
  try {
    await exec(argv, { env: startEnv(paths.hidingDir), cwd: '/', timeoutMs: startTimeoutMs });
  } catch (error) {
    if (run.startUntilFile !== undefined && !mayBegin(run.startUntilFile)) throw startFailure(run, tooLate);
    throw startFailure(
      run,
      firstReason(
        textOrNothing(`${run.logDir}/lxc.log`),
        error instanceof ExecError ? error.stderr || error.message : '',
      ),
    );
  }
}

export const startFailure = (run: RunConfig, reason: string): DriverError =>
  driverErrors.failed(`Cannot start container "${run.name}"`, new Error(reason));
