// Runs a command in a container (spec 4.4): checks and starts it; streams.ts carries the bytes.
import { DeadlineError, within } from '../../../lib/shared/deadline.ts';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ExecPost } from '../../../api/container/container-exec.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Problem } from '../../../api/problem.ts';
import type { RuntimeCommand, RuntimeProcess, RuntimeStdio, TerminalSize } from '../../../drivers/runtime/command.ts';
import { parseIdMap } from '../../../drivers/runtime/idmap/plan.ts';
import { ChannelSet } from '../../../operations/channels.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Caller } from '../../shared/caller.ts';
import type { ContainerDeps } from '../deps.ts';
import { containerUrl, projectOf } from '../../../api/project/project-names.ts';
import { isRestricted } from '../../../api/project/project-restrictions.ts';
import { relayPipes, relayTerminal } from './streams.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { idMapKeys } from '../shared/id-maps.ts';
import { execLogName } from './logs.ts';
import { maxRecordedBytes, recordOutput } from './record-output.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

type ExecDeps = Pick<ContainerDeps, 'records' | 'runtime' | 'operations' | 'events' | 'view' | 'logsDir' | 'log'>;

/** LXD 5.0.2 waits 5 s, too short for a client of another cluster member on slow hosts. */
const connectTimeoutMs = 10_000;

export function execContainer(deps: ExecDeps, caller: Caller, name: string, body: ExecPost): Operation {
  const entry = readyContainer(deps.records, name);
  requireRunning(deps, name, 'run a command in it');
  const problems = execProblems(body);
  if (problems.length > 0) throw errors.invalid('command', problems);
  const { config } = deps.view.expanded(entry);
  const unmapped = idProblems(body, config[idMapKeys.current]);
  if (unmapped.length > 0) throw errors.invalid('command', unmapped);
  checkRoom(deps, projectOf(name));
  const command = commandOf(body, config);
  const interactive = body.interactive === true;
  const isConnected = body['wait-for-websocket'] === true;
  const channels = isConnected
    ? new ChannelSet(interactive ? ['0', 'control'] : ['0', '1', '2', 'control'])
    : undefined;
  const operation = deps.operations.start({
    class: isConnected ? 'websocket' : 'task',
    description: 'Executing command',
    resources: { containers: [containerUrl(name)] },
    metadata: {
      command: body.command,
      environment: body.environment ?? {},
      interactive,
      ...(channels === undefined ? {} : { fds: channels.secrets }),
    },
    endsWithDaemon: true,
    ...withoutUndefined({ channels }),
    run: (handle, signal) => {
      if (channels !== undefined) return runConnected(deps, name, command, channels, signal);
      return body['record-output'] === true
        ? runRecorded(deps, name, command, handle, signal)
        : runAlone(deps, name, command, signal);
    },
  });
  deps.events.lifecycle('container-exec', containerUrl(name), caller, { command: body.command });
  return operation;
}

const restrictedOperations = 200;

/** Throws AppError forbidden: commands of one project must not starve the others. */
function checkRoom({ records, operations }: Pick<ExecDeps, 'records' | 'operations'>, project: string): void {
  const config = records.projects.get(project)?.document.config ?? {};
  const max = config['limits.operations'] || (isRestricted(config) ? restrictedOperations : undefined);
  if (max === undefined || operations.countOpen(project) < Number(max)) return;
  throw errors.forbidden(
    `The project ${project} has ${max} operations under way, the most that it may have with another command (limits.operations): try again when one has ended`,
  );
}

/** Answers 400 at once instead of an operation that fails. */
export function requireRunning(deps: Pick<ContainerDeps, 'runtime'>, name: string, what: string): void {
  const { status } = deps.runtime.probe(name);
  if (status === 'stopped') throw errors.badRequest(`Cannot ${what}: the container ${name} is not running`);
  if (status === 'frozen') throw errors.badRequest(`Cannot ${what}: the container ${name} is frozen`);
}

/** Linux accepts no longer argument of a command, nor NAME=VALUE (MAX_ARG_STRLEN with its zero byte). */
const maxWordBytes = 32 * 4096 - 1;
const tooLong = `is longer than ${maxWordBytes} bytes, the longest argument of a program`;
const isTooLong = (word: string): boolean => Buffer.byteLength(word) > maxWordBytes;

export function execProblems(body: ExecPost): readonly Problem[] {
  const problems: Problem[] = [];
  const zero = 'must not contain a zero byte';
  if (body.command[0] === '') problems.push({ path: 'command.0', message: 'must not be empty' });
  for (const [index, word] of body.command.entries()) {
    if (word.includes('\0')) problems.push({ path: `command.${index}`, message: zero });
    if (isTooLong(word)) problems.push({ path: `command.${index}`, message: tooLong });
  }
  for (const [key, value] of Object.entries(body.environment ?? {})) {
    if (key === '' || /[=\0]/.test(key)) {
      problems.push({ path: `environment.${key}`, message: 'is not the name of a variable' });
    }
    if (value.includes('\0')) problems.push({ path: `environment.${key}`, message: zero });
    if (isTooLong(`${key}=${value}`)) problems.push({ path: `environment.${key}`, message: tooLong });
  }
  if (body['record-output'] === true && body['wait-for-websocket'] === true) {
    problems.push({ path: 'record-output', message: 'is only possible without wait-for-websocket' });
  }
  if (body['record-output'] === true && body.interactive === true) {
    problems.push({ path: 'record-output', message: 'is only possible without interactive' });
  }
  if (body.cwd?.includes('\0') === true) problems.push({ path: 'cwd', message: zero });
  return problems;
}

/** Ids that the running container lacks. `current`: its map, as in volatile.idmap.current; `[]`: all ids of the host. Pure. */
export function idProblems(body: Pick<ExecPost, 'user' | 'group'>, current: string | undefined): readonly Problem[] {
  const map = parseIdMap(current) ?? [];
  if (map.length === 0) return [];
  return (['user', 'group'] as const).flatMap((path) => {
    const [id, own] = [body[path] ?? 0, map.filter((entry) => (path === 'user' ? entry.isuid : entry.isgid))];
    if (own.some(({ nsid, maprange }) => id >= nsid && id < nsid + maprange)) return [];
    const ranges = own.map(({ nsid, maprange }) => `${nsid} to ${nsid + maprange - 1}`).join(', ');
    return [{ path, message: `the container has no id ${id}, but ${ranges}` }];
  });
}

/** The container's environment.* keys, then the request's; the runtime adds defaults below them. Pure. */
export function commandOf(body: ExecPost, config: Readonly<Record<string, string>>): RuntimeCommand {
  const prefix = 'environment.';
  const own = Object.entries(config).flatMap(([key, value]) =>
    key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
  );
  const env = { ...Object.fromEntries(own), ...body.environment };
  const isRoot = (body.user ?? 0) === 0;
  const home = env['HOME'] ?? (isRoot ? '/root' : '/');
  // A path without a leading slash begins in /, as on LXD.
  const cwd = (body.cwd || home || '/').replace(/^(?!\/)/, '/');
  return {
    argv: body.command,
    env,
    ...(cwd === '/root' ? {} : { cwd }),
    ...(body.user === undefined || body.user === null ? {} : { uid: body.user }),
    ...(body.group === undefined || body.group === null ? {} : { gid: body.group }),
    stdio: stdioOf(body),
  };
}

function stdioOf(body: ExecPost): RuntimeStdio {
  const isConnected = body['wait-for-websocket'] === true;
  if (isConnected && body.interactive === true) return { kind: 'terminal', size: sizeOf(body) };
  return { kind: isConnected || body['record-output'] === true ? 'pipes' : 'null' };
}

/** The default size of terminals. */
export const sizeOf = (body: { readonly width?: number; readonly height?: number }): TerminalSize => ({
  columns: (body.width ?? 0) > 0 ? (body.width ?? 0) : 80,
  rows: (body.height ?? 0) > 0 ? (body.height ?? 0) : 24,
});

type Outcome = Promise<Readonly<Record<string, unknown>>>;

async function runConnected(
  deps: ExecDeps,
  name: string,
  command: RuntimeCommand,
  channels: ChannelSet,
  signal: AbortSignal,
): Outcome {
  const isTerminal = command.stdio.kind === 'terminal';
  const names = isTerminal ? ['0'] : ['0', '1', '2'];
  const prepared = deps.runtime.prepareCommand?.(name, command);
  const connected = await waitFor(
    Promise.all(names.map((channel) => channels.connected(channel))),
    connectTimeoutMs,
    `The client did not connect to all of the channels ${names.join(', ')} in ${connectTimeoutMs} ms`,
    signal,
  ).catch((error: unknown) => {
    prepared?.discard();
    throw error;
  });
  const process = await (prepared?.begin(signal) ?? deps.runtime.spawn(name, command, signal));
  return killedBy(signal, process, async () => ({
    return: await (isTerminal ? relayTerminal : relayPipes)(process, connected, channels.connected('control')),
  }));
}

async function runRecorded(
  deps: ExecDeps,
  name: string,
  command: RuntimeCommand,
  handle: OperationHandle,
  signal: AbortSignal,
): Outcome {
  const dir = join(deps.logsDir, name);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const process = await deps.runtime.spawn(name, command, signal);
  return killedBy(signal, process, async () => {
    process.stdin?.end();
    const store = async (stream: Readable | undefined, output: 'stdout' | 'stderr') => {
      const file = execLogName(handle.id, output);
      const dropped = await recordOutput(stream, join(dir, file));
      if (dropped > 0)
        deps.log.warn(
          `${output} of the command ${handle.id} in ${name} was cut: ${dropped} bytes more than ${maxRecordedBytes}`,
        );
      return { url: containerUrl(name, 'logs', file), dropped };
    };
    const [stdout, stderr, code] = await Promise.all([
      store(process.stdout, 'stdout'),
      store(process.stderr, 'stderr'),
      process.exited,
    ]);
    return {
      output: { '1': stdout.url, '2': stderr.url },
      // Only for a command with more output than is kept.
      ...(stdout.dropped + stderr.dropped > 0
        ? { output_dropped_bytes: { '1': stdout.dropped, '2': stderr.dropped } }
        : {}),
      return: code,
    };
  });
}

async function runAlone(deps: ExecDeps, name: string, command: RuntimeCommand, signal: AbortSignal): Outcome {
  const process = await deps.runtime.spawn(name, command, signal);
  return killedBy(signal, process, async () => ({ return: await process.exited }));
}

/** Kills the command when the work ends early, without waiting. */
async function killedBy<T>(signal: AbortSignal, process: RuntimeProcess, work: () => Promise<T>): Promise<T> {
  try {
    return await waitFor(work(), undefined, '', signal);
  } catch (error) {
    process.kill();
    process.stdout?.destroy();
    process.stderr?.destroy();
    await process.exited;
    throw error;
  }
}

/** Stops waiting after the time, with the problem, or at the signal; `wanted` may still settle later. */
export async function waitFor<T>(
  wanted: Promise<T>,
  timeoutMs: number | undefined,
  problem: string,
  signal: AbortSignal,
): Promise<T> {
  wanted.catch(() => {});
  const orAborted = (inner: AbortSignal): Promise<T> =>
    new Promise((resolve, reject) => {
      inner.addEventListener('abort', () => reject(inner.reason as Error), { once: true });
      wanted.then(resolve, reject);
    });
  try {
    return await within(timeoutMs, orAborted, signal);
  } catch (error) {
    throw error instanceof DeadlineError ? errors.badRequest(problem) : error;
  }
}
