// Checkpoints LXC containers with CRIU, and restores them with lxc-checkpoint, which drives CRIU.
import {
  bindTargets,
  dumpArgv,
  dumpLog,
  preDumpArgv,
  preDumpLog,
  restoreArgv,
  restoreLog,
} from '../checkpoint/commands.ts';
import { imagesOf, linkTo, makeImagesDir, makeRoundsPassable } from '../checkpoint/images.ts';
import { appendFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exec, ExecError } from '../../../lib/exec.ts';
import type { Log } from '../../../lib/log.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { type CgroupTree, groupDir, isFrozen, setFrozen } from '../cgroup/cgroup.ts';
import {
  type CheckpointPrograms,
  criuEnvironment,
  CriuProbe,
  type FoundPrograms,
  isCompleteDump,
  readUnchanged,
  reasonsIn,
  metEndingProcess,
} from '../checkpoint/criu.ts';
import type { RunConfig, CheckpointAbility, Checkpoints } from '../driver.ts';
import { firstReason } from './failure-reason.ts';
import { quoteShell } from '../safe-names.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import { type Launch, startFailure } from './start.ts';
import { readCommandLine } from '../host/proc.ts';
import { readProcess } from '../../../lib/shared/processes.ts';
import type { RunningRecord } from './running-record.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';
import { repeatWhile } from '../../../lib/shared/repeat.ts';

export interface CheckpointDeps {
  readonly paths: LxcPaths;
  readonly tree: CgroupTree;
  readonly log: Log;
  readonly programs: CheckpointPrograms | undefined;
}

export interface CheckpointRecords {
  need(name: string): RunningRecord;
  lock<T>(name: string, work: () => Promise<T>): Promise<T>;
  nextStop(name: string): (timeoutMs: number | undefined, signal: AbortSignal) => Promise<void>;
  start(run: RunConfig, signal: AbortSignal, launch: Launch): Promise<{ readonly initPid: number }>;
}

const copying = 'Cannot copy the memory of';
const storing = 'Cannot checkpoint';
const restoring = 'Cannot restore the checkpoint of';

type CheckpointOptions = Parameters<Checkpoints['checkpoint']>[1];

interface Dump extends Pick<CheckpointOptions, 'dir' | 'leave'> {
  readonly name: string;
  readonly settings: string;
  readonly logFile: string | undefined;
}

/** For a big container on a slow disk. */
const checkpointTimeoutMs = 30 * 60_000;
const exitTimeoutMs = 30_000;
const orphanTimeoutMs = 60_000;
const freezeTimeoutMs = 10_000;

export class LxcCheckpoints implements Checkpoints {
  readonly #deps: CheckpointDeps;
  readonly #book: CheckpointRecords;
  readonly #probe: CriuProbe;

  constructor(deps: CheckpointDeps, book: CheckpointRecords) {
    this.#deps = deps;
    this.#book = book;
    this.#probe = new CriuProbe(deps.programs ?? {});
  }

  available(): Promise<CheckpointAbility> {
    return this.#probe.available();
  }

  isComplete(dir: string): boolean {
    return isCompleteDump(imagesOf(dir));
  }

  async prepare(
    name: string,
    { dir, previous }: { readonly dir: string; readonly previous?: string },
    signal: AbortSignal,
  ): Promise<{ readonly unchangedPercent: number }> {
    const programs = await this.#need(name, copying);
    signal.throwIfAborted();
    await this.#book.lock(name, async () => {
      this.#refuseUnreceptive(name);
      // Not by lxc-checkpoint, whose --pre-dump aborts in LXC 5.0; CRIU reads only memory here.
      const images = makeImagesDir(dir);
      const argv = preDumpArgv(programs.criu, this.#book.need(name).initPid, images);
      const settings = await this.#probe.settings(programs.criu, { previous: linkTo(dir, previous) });
      await this.#run({ argv, settings, name, what: copying, criu: programs.criu, log: join(images, preDumpLog) });
    });
    return { unchangedPercent: previous === undefined ? 0 : readUnchanged(imagesOf(dir)) };
  }

  async checkpoint(name: string, options: CheckpointOptions, signal: AbortSignal): Promise<void> {
    const programs = await this.#need(name, storing);
    signal.throwIfAborted();
    const { dir, previous, leave, logFile } = options;
    const ended = await this.#book.lock(name, async () => {
      this.#refuseUnreceptive(name);
      this.#refuseConsole(name);
      const wait = this.#book.nextStop(name);
      const settings = await this.#probe.settings(programs.criu, { previous: linkTo(dir, previous) });
      try {
        await this.#dump(programs, { name, dir, leave, settings, logFile });
        if (leave === 'frozen') await setFrozen(this.#deps.tree, this.#deps.paths.group(name), true, freezeTimeoutMs);
        return wait;
      } catch (error) {
        // Ends the listening: the exit is not awaited.
        wait(0, AbortSignal.abort()).catch(() => {});
        await this.#thaw(name);
        throw error;
      }
    });
    if (leave === 'stopped') await ended(exitTimeoutMs, new AbortController().signal);
    else ended(0, AbortSignal.abort()).catch(() => {});
  }

  /** Not by lxc-checkpoint: on cgroup v2 LXC 5.0 does not know the group of a container that it restored. */
  async #dump({ criu }: FoundPrograms, { name, dir, leave, settings, logFile }: Dump): Promise<void> {
    const { paths } = this.#deps;
    const images = makeImagesDir(dir);
    const argv = dumpArgv(criu, {
      images,
      initPid: this.#book.need(name).initPid,
      freezeGroup: this.#freezerDir(name),
      binds: bindTargets(textOrNothing(paths.configFile(name))),
      isStopped: leave === 'stopped',
      script: leave === 'frozen' ? this.#freezeScript(name) : undefined,
    });
    const log = join(images, dumpLog);
    await this.#run({ argv, settings, name, what: storing, criu, log, logFile });
  }

  #freezerDir(name: string): string {
    return groupDir(this.#deps.tree, 'freezer', this.#deps.paths.group(name)) ?? '';
  }

  /** Runs while all processes stand still: frozen then and thawed later, they continue from the stored memory. */
  #freezeScript(name: string): string {
    const { tree, paths } = this.#deps;
    const dir = this.#freezerDir(name);
    const freeze =
      tree.version === 1
        ? `echo FROZEN > ${quoteShell(`${dir}/freezer.state`)}`
        : `echo 1 > ${quoteShell(`${dir}/cgroup.freeze`)}`;
    const script = join(paths.containerDir(name), 'post-dump');
    writeFileSync(script, `#!/bin/sh\n[ "$CRTOOLS_SCRIPT_ACTION" = post-dump ] || exit 0\n${freeze}\n`, {
      mode: 0o700,
    });
    return script;
  }

  async restore(
    run: RunConfig,
    { dir, logFile }: { readonly dir: string; readonly logFile?: string },
    signal: AbortSignal,
  ): Promise<{ readonly initPid: number }> {
    const programs = await this.#need(run.name, restoring);
    if (!this.isComplete(dir)) {
      throw driverErrors.failed(`${restoring} container "${run.name}"`, new Error(`${dir} does not hold all of it`));
    }
    makeRoundsPassable(dir);
    return this.#book.start(run, signal, async () => {
      try {
        const { tree, paths } = this.#deps;
        const group = tree.version === 1 ? undefined : `/${paths.initGroup(run.name)}`;
        const settings = await this.#probe.settings(programs.criu, { group });
        await this.#restore(programs, { name: run.name, dir, settings, logFile });
      } catch (error) {
        throw error instanceof DriverError ? error : startFailure(run, String(error));
      }
    });
  }

  /** A killed daemon leaves its tool running. Waits for that tool before the state of containers is read. */
  async awaitOrphans(): Promise<void> {
    const deadline = performance.now() + orphanTimeoutMs;
    while (this.#orphans().length > 0 && performance.now() < deadline) await sleep(50);
    if (this.#orphans().length > 0) this.#deps.log.warn('an earlier daemon is still checkpointing a container');
  }

  /** Monitors of restored containers have the tool's name, too; they stay. */
  #orphans(): readonly number[] {
    return readdirSync('/proc')
      .filter((entry) => /^[0-9]+$/.test(entry))
      .map(Number)
      .filter((pid) => {
        const line = readCommandLine(pid);
        const { lxcPath, groupRoot } = this.#deps.paths;
        const isTool =
          line.includes('lxc-checkpoint') && line.includes(` -P ${lxcPath} `) && !line.includes(' --restore');
        const isDump = line.includes('criu dump ') && line.includes(`/${groupRoot}/`);
        return (isTool || isDump) && readProcess(pid)?.isZombie === false;
      });
  }

  async #need(name: string, what: string): Promise<FoundPrograms> {
    const ability = await this.available();
    const { criu, lxcCheckpoint } = this.#probe.find();
    if (ability.ok && criu !== undefined && lxcCheckpoint !== undefined) return { criu, lxcCheckpoint };
    const reason = ability.ok ? 'CRIU is gone' : ability.reason;
    throw driverErrors.notSupported(`${what} container "${name}"`, new Error(reason));
  }

  #refuseUnreceptive(name: string): void {
    this.#book.need(name);
    if (!isFrozen(this.#deps.tree, this.#deps.paths.group(name))) return;
    throw driverErrors.failed(`${storing} container "${name}"`, new Error('it is frozen'));
  }

  /** LXC would store it, but then not restore it: the terminal behind the console belongs to the host. */
  #refuseConsole(name: string): void {
    if (/^\s*lxc\.console\.path\s*=\s*none\s*$/m.test(textOrNothing(this.#deps.paths.configFile(name)))) return;
    const why =
      'LXC cannot restore a container that has a console: set raw.lxc to lxc.console.path=none and restart it first';
    throw driverErrors.notSupported(`${storing} container "${name}"`, new Error(why));
  }

  async #thaw(name: string): Promise<void> {
    const group = this.#deps.paths.group(name);
    if (isFrozen(this.#deps.tree, group))
      await setFrozen(this.#deps.tree, group, false, freezeTimeoutMs).catch(() => {});
  }

  async #restore(
    { criu, lxcCheckpoint }: FoundPrograms,
    { name, dir, settings, logFile }: Omit<Dump, 'leave'>,
  ): Promise<void> {
    const { paths } = this.#deps;
    const images = makeImagesDir(dir);
    const toolLog = join(dir, 'lxc-restore.log');
    const argv = restoreArgv(lxcCheckpoint, { lxcPath: paths.lxcPath, key: paths.key(name), images, toolLog });
    await this.#run({ argv, settings, name, what: restoring, criu, log: join(images, restoreLog), toolLog, logFile });
  }

  async #run(work: {
    readonly argv: readonly string[];
    readonly settings: string;
    readonly name: string;
    readonly what: string;
    readonly criu: string;
    /** CRIU's own. */
    readonly log: string;
    readonly toolLog?: string;
    readonly logFile?: string | undefined;
  }): Promise<void> {
    const { argv, settings, name, what, criu, log, toolLog = '', logFile } = work;
    const file = join(this.#deps.paths.containerDir(name), 'criu.conf');
    writeFileSync(file, settings, { mode: 0o600 });
    const runOnce = async (): Promise<void> => {
      for (const old of [log, toolLog]) if (old !== '') rmSync(old, { force: true });
      await exec(argv, { env: criuEnvironment(criu, file), cwd: '/', timeoutMs: checkpointTimeoutMs });
    };
    try {
      await repeatWhile(runOnce, { mayPass: () => metEndingProcess(textOrNothing(log)), runs: 5, pauseMs: 200 });
    } catch (error) {
      const stderr = error instanceof ExecError ? error.stderr || error.message : String(error);
      if (logFile !== undefined) keep(logFile, [textOrNothing(log), textOrNothing(toolLog), stderr]);
      const reason = reasonsIn(textOrNothing(log)) || firstReason(textOrNothing(toolLog), stderr);
      throw driverErrors.failed(`${what} container "${name}"`, new Error(`CRIU: ${reason}`));
    }
  }
}

function keep(logFile: string, texts: readonly string[]): void {
  try {
    mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
    writeFileSync(logFile, '', { mode: 0o600 });
    for (const text of texts) if (text !== '') appendFileSync(logFile, text.endsWith('\n') ? text : `${text}\n`);
  } catch {
    // The error carries the reason anyway.
  }
}
