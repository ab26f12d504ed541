// `gantry exec NAME COMMAND...` and `gantry console NAME`: this program's streams or terminal, connected to a container.
import type { Context, Run } from '../../session/context.ts';
import { PassThrough, type Readable } from 'node:stream';
import type { ExecSession, TerminalSize } from '../../../../server/client/channels/exec.ts';
import { exitCodeOfCommand, type ExitCode } from '../../errors/exit-codes.ts';
import type { CliIo } from '../../output/process-io.ts';
import type { ShownIo } from '../../output/safe-io.ts';
import type { HostOptions } from '../../flags/host-flags.ts';
import { parseContainer, parseNumber, parsePairs } from '../../flags/parse-values.ts';
import type { ExecOptions } from './container-verbs.ts';
import { withClient } from '../../session/connect.ts';
import { usageError } from '../../errors/usage-error.ts';
import { explainPower } from '../../errors/not-running.ts';
import { refuseMissing } from '../../errors/missing-object.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const interruptSignal = 2;

export const exec: Run<ExecOptions> = async (context, words) => {
  const [word, ...command] = words;
  if (word === undefined || command.length === 0) throw usageError('usage: gantry exec NAME COMMAND...');
  return runInside(context, parseContainer(word, 'gantry exec'), command, context.options);
};

/** Ends with the exit code of the command. */
export async function runInside(
  context: Context<HostOptions>,
  name: string,
  command: readonly string[],
  flags: Pick<ExecOptions, 'tty' | 'env' | 'cwd' | 'user' | 'group'>,
): Promise<ExitCode> {
  const { io } = context;
  const isTerminal = flags.tty ?? (io.stdin.isTTY === true && io.stdout.isTTY === true);
  const environment = {
    ...(isTerminal && io.env['TERM'] !== undefined ? { TERM: io.env['TERM'] } : {}),
    ...parsePairs('--env', flags.env),
  };
  const user = parseNumber('--user', flags.user);
  const group = parseNumber('--group', flags.group);
  // The first Ctrl-C goes to the command, the second ends gantry.
  context.takeAnnouncements();
  const code = await withClient(context, async (client) => {
    const request = {
      command,
      environment,
      ...withoutUndefined({ user, group, cwd: flags.cwd }),
      ...(isTerminal ? { terminal: sizeOf(io) } : {}),
      stdin: io.stdin,
      stdout: io.raw.stdout,
      stderr: io.raw.stderr,
    };
    const end = AbortSignal.any([context.cancel, io.lost]);
    const session = await client
      .exec(name, request, end)
      .catch(refuseMissing('container', name))
      .catch(explainPower(client, name, end));
    const restore = isTerminal ? takeTerminal(io, session) : () => {};
    const interrupt = (): void => session.signal(interruptSignal);
    // The interruption may have come before the command started.
    if (context.stop.aborted) interrupt();
    else context.stop.addEventListener('abort', interrupt, { once: true });
    const ended = await session.exited.finally(() => {
      context.stop.removeEventListener('abort', interrupt);
      restore();
    });
    // If there was output, the shell has printed its own error.
    if (session.outputBytes() === 0) reportUnrunnable(io, name, command[0] ?? '', ended);
    return ended;
  });
  return exitCodeOfCommand(code);
}

function reportUnrunnable({ stderr }: CliIo, name: string, command: string, code: number): void {
  const why = code === 127 ? 'command not found' : code === 126 ? 'it cannot be executed' : undefined;
  if (why !== undefined)
    stderr.write(`Error: ${command} in ${name}: ${why} (or it exited with ${code} without output)\n`);
}

export const attachConsole: Run<HostOptions> = async (context, words) => {
  const [word] = words;
  if (word === undefined || words.length > 1) throw usageError('usage: gantry console NAME');
  const name = parseContainer(word, 'gantry console');
  const { io } = context;
  const isTerminal = io.stdin.isTTY === true;
  if (isTerminal) context.note('To detach, press Ctrl-a, then q.');
  await withClient(context, async (client) => {
    const left = new AbortController();
    const typed = detachable(io.stdin, () => left.abort());
    const target = { size: sizeOf(io), stdin: typed.passed, stdout: io.raw.stdout };
    const session = await client
      .console(name, target, context.stop)
      .catch(refuseMissing('container', name))
      .catch(explainPower(client, name, context.stop));
    left.signal.addEventListener('abort', () => session.close(), { once: true });
    const restore = isTerminal ? takeTerminal(io, session) : () => {};
    try {
      await session.ended;
    } finally {
      restore();
      typed.release();
    }
  });
  if (isTerminal) context.note('');
};

const sizeOf = ({ stdout }: Pick<CliIo, 'stdout'>): TerminalSize => ({
  columns: stdout.columns ?? 80,
  rows: stdout.rows ?? 24,
});

/** Sends every key to the container, and changes of the window size. Returns a function that restores the terminal. */
function takeTerminal(io: ShownIo, session: Pick<ExecSession, 'resize'>): () => void {
  const follow = (): void => session.resize(sizeOf(io));
  io.setRaw?.(true);
  io.raw.stdout.on('resize', follow);
  // The window may have changed while the connection was made.
  follow();
  return () => {
    io.raw.stdout.off('resize', follow);
    io.setRaw?.(false);
  };
}

const controlA = 0x01;
const q = 0x71;

/** All input but Ctrl-a q, which calls `leave`. Ctrl-a twice is one Ctrl-a. */
export function detachable(
  stdin: Readable,
  leave: () => void,
): { readonly passed: Readable; readonly release: () => void } {
  const passed = new PassThrough();
  let isArmed = false;
  const take = (chunk: Buffer | string): void => {
    const kept: number[] = [];
    for (const byte of Buffer.from(chunk as string)) {
      if (!isArmed && byte === controlA) {
        isArmed = true;
        continue;
      }
      if (isArmed && byte === q) {
        leave();
        return;
      }
      if (isArmed && byte !== controlA) kept.push(controlA);
      isArmed = false;
      kept.push(byte);
    }
    passed.write(Buffer.from(kept));
  };
  const end = (): void => void passed.end();
  stdin.on('data', take);
  stdin.once('end', end);
  return {
    passed,
    release: () => {
      stdin.off('data', take);
      stdin.off('end', end);
      stdin.pause();
    },
  };
}
