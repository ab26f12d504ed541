// Runs commands in a running container through lxc-attach, on pipes or a terminal. Others read their output.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, fchownSync, openSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import type { Socket } from 'node:net';
import { type Readable, Writable } from 'node:stream';
import { driverErrors } from '../../driver-error.ts';
import { carriageReturnFilter, CommandOutput } from './command-output.ts';
import type { RuntimeCommand, RuntimeProcess, TerminalSize } from '../command.ts';
import { ForkedChild, type HostChild, startChild } from '../host/child-process.ts';
import { hostIdOf, readCommandLine } from '../host/proc.ts';
import { readProcess, readProc } from '../../../lib/shared/processes.ts';
import { killBelow, killTree, ProcessInside, sendSignal } from './process-inside.ts';
import { openTerminal, type Terminal } from './pty.ts';
import { openPipe, pipeReader, pipeWriter } from '../host/pipes.ts';
import type { Libc } from '../host/syscalls.ts';
import { programEnv } from '../../../lib/program-env.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface AttachTarget {
  readonly lxcPath: string;
  readonly key: string;
  readonly name: string;
  readonly initPid: number;
  /** lxc-attach. */
  readonly program: string;
  /** Arguments before it. */
  readonly before?: readonly string[];
  readonly libc: Libc | undefined;
  /** A file that it opens first; it blocks while that does not open. */
  readonly gate?: string;
}

/** A command with the host program that runs it. */
export interface AttachedProcess extends RuntimeProcess {
  readonly host: HostChild;
}

/** Marks the host process of a command, so that a later daemon recognizes leftovers. */
export const attachMark = 'GANTRY_ATTACH';

/** The environment of a command, whose own variables override. Pure. */
export function commandEnv(
  env: Readonly<Record<string, string>>,
  about: { readonly uid: number; readonly hasSnap: boolean },
): Readonly<Record<string, string>> {
  return {
    PATH: about.hasSnap ? `${programEnv.PATH}:/snap/bin` : programEnv.PATH,
    ...(about.uid === 0 ? { HOME: '/root', USER: 'root' } : {}),
    LANG: 'C.UTF-8',
    ...env,
  };
}

/** The host command for a command in the container. Pure. */
export function attachArgv(
  target: Pick<AttachTarget, 'lxcPath' | 'key' | 'gate'>,
  command: Pick<RuntimeCommand, 'argv' | 'env' | 'cwd' | 'uid' | 'gid'>,
): readonly string[] {
  const { argv, env = {}, cwd, uid, gid } = command;
  const variables = Object.entries(env).flatMap(([key, value]) => ['-v', `${key}=${value}`]);
  // lxc-attach has no option for a directory; a shell inside changes to it, passing every argument on unchanged.
  const enter = 'cd -- "$0" 2>/dev/null || cd /; exec "$@"';
  const inside = cwd === undefined ? argv : ['/bin/sh', '-c', enter, cwd, ...argv];
  const ids = [
    ...(uid === undefined ? [] : ['-u', uid.toString()]),
    ...(gid === undefined ? [] : ['-g', gid.toString()]),
  ];
  // lxc-attach opens its log first.
  const quiet = ['-o', target.gate ?? '/dev/null', '-l', 'FATAL'];
  return ['-P', target.lxcPath, '-n', target.key, ...quiet, '--clear-env', ...variables, ...ids, '--', ...inside];
}

export function spawnAttached(target: AttachTarget, command: RuntimeCommand): AttachedProcess {
  if (command.argv.length === 0) throw driverErrors.invalid(`No command to run in container "${target.name}"`);
  const uid = command.uid ?? 0;
  const hasSnap = existsSync(`/proc/${target.initPid}/root/snap`);
  const env = commandEnv(command.env ?? {}, { uid, hasSnap });
  const argv = [...(target.before ?? []), target.program, ...attachArgv(target, { ...command, env })];
  const { stdio } = command;
  if (stdio.kind === 'terminal') return spawnOnTerminal(target, argv, { size: stdio.size, carriageReturns: 1 });
  if (stdio.kind === 'null') return spawnOnNothing(target, argv);
  return spawnOnPipes(target, argv, { uid, gid: command.gid ?? 0 });
}

// lxc-attach enters, inside, the directory it was started in. Its own environment is not the command's.
const planOf = ([file = '', ...args]: readonly string[]) => ({
  file,
  args,
  env: { ...programEnv, [attachMark]: '1' },
  cwd: existsSync('/root') ? '/root' : '/',
});

const start = (libc: Libc | undefined, argv: readonly string[], fds: readonly number[]): HostChild =>
  startChild(libc, { ...planOf(argv), fds });

function spawnOnNothing({ libc }: AttachTarget, argv: readonly string[]): AttachedProcess {
  const devNull = openSync('/dev/null', 'r+');
  try {
    return processOf(start(libc, argv, [devNull, devNull, devNull]), {});
  } finally {
    closeSync(devNull);
  }
}

/** Real pipes owned by the command's user: it may reopen them by name, as in `echo > /dev/stderr`. */
function spawnOnPipes(
  target: AttachTarget,
  argv: readonly string[],
  ids: { readonly uid: number; readonly gid: number },
): AttachedProcess {
  if (target.libc === undefined) {
    const { file, args, env, cwd } = planOf(argv);
    const child = spawn(file, args, { env, cwd, stdio: 'pipe' });
    const [stdin, stdout, stderr] = [child.stdin, child.stdout as Socket, child.stderr as Socket];
    return processOf(new ForkedChild(child), {
      stdin,
      stdout: new CommandOutput(stdout),
      stderr: new CommandOutput(stderr),
    });
  }
  const { libc, initPid } = target;
  const pipes: { readonly reader: number; readonly writer: number }[] = [];
  try {
    for (let count = 0; count < 3; count++) pipes.push(openPipe(libc));
    const [input, output, errors] = pipes as [(typeof pipes)[0], (typeof pipes)[0], (typeof pipes)[0]];
    const theirs = [input.reader, output.writer, errors.writer];
    const [uid, gid] = [hostIdOf(initPid, 'uid', ids.uid), hostIdOf(initPid, 'gid', ids.gid)];
    for (const fd of theirs) fchownSync(fd, uid, gid);
    const child = start(libc, argv, theirs);
    for (const fd of theirs) closeSync(fd);
    return processOf(child, {
      stdin: pipeWriter(input.writer),
      stdout: new CommandOutput(pipeReader(output.reader)),
      stderr: new CommandOutput(pipeReader(errors.reader)),
    });
  } catch (error) {
    for (const { reader, writer } of pipes) for (const fd of [reader, writer]) closeQuietly(fd);
    throw error;
  }
}

/** The program leads the terminal's session: lxc-attach needs it as controlling terminal. The far side stays open here until all output was
 *  read: Node would take its closing for the end of the output. */
export function spawnOnTerminal(
  target: Pick<AttachTarget, 'name' | 'libc'>,
  argv: readonly string[],
  options: { readonly size: TerminalSize; readonly carriageReturns: number },
): AttachedProcess {
  if (target.libc === undefined) {
    throw driverErrors.notSupported('Terminals in containers need koffi (npm), which this host lacks');
  }
  const terminal = openTerminal(target.libc, options.size);
  const { socket, farSide, path } = terminal;
  try {
    const child = startChild(target.libc, { ...planOf(argv), fds: [farSide, farSide, farSide], terminal: path });
    const filter = carriageReturnFilter(options.carriageReturns);
    const output = new CommandOutput(socket, { filter, rest: terminal.rest });
    output.once('close', () => closeSync(farSide));
    return processOf(child, { stdin: heldInput(terminal, child), stdout: output, resize: terminal.resize });
  } catch (error) {
    socket.destroy();
    closeSync(farSide);
    throw error;
  }
}

/** Input waits until the program has set up the terminal: earlier input would be lost. */
function heldInput(terminal: Terminal, child: HostChild): Writable {
  const { socket } = terminal;
  let isReady = false;
  const isOver = (): boolean => child.isOver;
  const whenReady = (onReady: () => void): void => {
    isReady ||= socket.destroyed || child.isOver || terminal.isTaken();
    if (isReady) onReady();
    else setTimeout(whenReady, 2, onReady);
  };
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => whenReady(() => terminal.write(chunk, isOver, done)),
    // Ctrl-D: terminals have no other end of input.
    final: (done) => whenReady(() => terminal.write(Buffer.from('\u0004'), isOver, () => done())),
  });
}

/** Kills commands that a killed daemon left. A command on a terminal ended with its terminal. */
export function endOrphans(lxcPath: string): void {
  for (const pid of readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)) {
    if (!readCommandLine(pid).includes(` -P ${lxcPath} `) || !isMarked(pid)) continue;
    if (readProcess(pid)?.parentPid === process.pid) continue;
    // A process without children is waiting at its gate.
    if (!killBelow(pid)) sendSignal(pid, constants.signals.SIGKILL);
  }
}

const isMarked = (pid: number): boolean => (readProc(`${pid}/environ`) ?? '').split('\0').includes(`${attachMark}=1`);

interface Streams {
  readonly stdin?: Writable;
  readonly stdout?: Readable & { drain(): void };
  readonly stderr?: Readable & { drain(): void };
  readonly resize?: (this: void, size: TerminalSize) => void;
}

function processOf(child: HostChild, streams: Streams): AttachedProcess {
  const { stdin, stdout, stderr, resize } = streams;
  const inside = new ProcessInside(child);
  // A command may end before it has read its input; its exit code is the result.
  stdin?.on('error', () => {});
  const exited = new Promise<number>((resolve) => child.onEnd(resolve));
  child.onEnd(() => {
    stdin?.destroy();
    stdout?.drain();
    stderr?.drain();
  });
  return {
    ...withoutUndefined({ stdin, stdout, stderr }),
    resize: (size) => {
      if (stdout?.destroyed === false && !stdout.readableEnded) resize?.(size);
    },
    signal: (number) => inside.find((pid) => sendSignal(pid, number)),
    kill: () => inside.find(killTree, true),
    exited,
    host: child,
  };
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Closed already.
  }
}
