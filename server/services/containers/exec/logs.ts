// Log files of containers (spec 4.6): lists, reads and removes them, also those of deleted containers.
import { createReadStream } from 'node:fs';
import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { errors } from '../../../api/errors.ts';
import { containerName, projectName } from '../../../api/names.ts';
import { containerUrl, plainName, projectOf } from '../../../api/project/project-names.ts';
import type { ScheduledTask } from '../../shared/scheduler.ts';
import type { ContainerDeps } from '../deps.ts';

type LogDeps = Pick<ContainerDeps, 'logsDir'>;

/** Logs of the running container: only a start empties them. */
const lasting = new Set(['lxc.log', 'lxc.conf', 'console.log']);
const ofOneTask = /^(migration|snapshot|exec)_[A-Za-z0-9._-]{1,200}$/;
/** Spec part 8. */
export const keepLogsMs = 48 * 3_600_000;

export const execLogName = (operation: string, output: 'stdout' | 'stderr'): string => `exec_${operation}.${output}`;

/** URLs; none for containers without logs, known or not. */
export async function listLogs(deps: LogDeps, name: string): Promise<readonly string[]> {
  const files = await namesIn(dirOf(deps, name));
  return files.filter(isLog).map((file) => containerUrl(name, 'logs', file));
}

/** The log of a container that never started is empty, as on LXD. */
export async function readLog(
  deps: LogDeps & Pick<ContainerDeps, 'records'>,
  name: string,
  file: string,
): Promise<Readable> {
  const stream = createReadStream(join(dirOf(deps, name), checked(file)));
  return new Promise((resolve, reject) => {
    stream.once('open', () => resolve(stream));
    stream.once('error', (error) => {
      if (!isNotThere(error)) reject(error);
      else if (file === 'lxc.log' && deps.records.containers.has(name)) resolve(Readable.from([]));
      else reject(notFound(name, file));
    });
  });
}

export async function deleteLog(deps: LogDeps, name: string, file: string): Promise<void> {
  if (lasting.has(checked(file))) throw errors.badRequest(`The log file ${file} of ${name} cannot be removed`);
  await rm(join(dirOf(deps, name), file)).catch((error: unknown) => {
    throw isNotThere(error) ? notFound(name, file) : error;
  });
}

/** Removes logs of single tasks that are unchanged for 48 hours, and all logs of containers deleted by then. */
export async function pruneLogs(
  deps: LogDeps & { readonly isKnown: (container: string) => boolean; readonly nowMs: number },
): Promise<number> {
  let removed = 0;
  for (const name of await namesIn(deps.logsDir)) {
    const dir = join(deps.logsDir, name);
    for (const file of await namesIn(dir)) {
      const path = join(dir, file);
      const isPassing = ofOneTask.test(file) || !deps.isKnown(name);
      if (!isPassing || !(await isOld(path, deps.nowMs))) continue;
      await rm(path, { force: true });
      removed += 1;
    }
    // Removes only an empty directory.
    if (!deps.isKnown(name)) await rmdir(dir).catch(() => {});
  }
  return removed;
}

/** Runs once a day, and soon after the daemon's start. */
export function logTask(deps: LogDeps & Pick<ContainerDeps, 'records' | 'clock' | 'log'>): ScheduledTask {
  let nextMs = 0;
  return {
    name: 'Removing old log files',
    async run(minute) {
      if (minute.getTime() < nextMs) return;
      nextMs = minute.getTime() + 24 * 3_600_000;
      const isKnown = (container: string): boolean => deps.records.containers.has(container);
      const removed = await pruneLogs({ ...deps, isKnown, nowMs: deps.clock.nowMs() });
      if (removed > 0) deps.log.info(`Removed ${removed} log files that were older than 48 hours`);
    },
  };
}

async function isOld(path: string, nowMs: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && found.isFile() && nowMs - found.mtimeMs > keepLogsMs;
}

/** The name becomes part of a path, and may not belong to an existing container. */
function dirOf(deps: LogDeps, name: string): string {
  const rule = containerName(plainName(name)) ?? projectName(projectOf(name));
  if (rule !== undefined) throw errors.invalidName('container', plainName(name), rule);
  return join(deps.logsDir, name);
}

const isLog = (file: string): boolean => lasting.has(file) || ofOneTask.test(file);

function checked(file: string): string {
  if (isLog(file)) return file;
  const message = 'must be lxc.log, lxc.conf, console.log, or begin with exec_, snapshot_ or migration_';
  throw errors.invalid('log file', [{ path: 'file', message: `${message}, is ${JSON.stringify(file)}` }]);
}

const notFound = (name: string, file: string): Error => errors.notFound('log file', `${file} of the container ${name}`);

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return (await readdir(dir)).toSorted();
  } catch (error) {
    if (isNotThere(error)) return [];
    throw error;
  }
}

export const isNotThere = (error: unknown): boolean => hasCode(error, 'ENOENT', 'ENOTDIR');
