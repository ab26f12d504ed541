// A process of a simulated container: streams, signals and terminal behaviour. shell.ts and commands.ts run in it.
import { PassThrough, Writable } from 'node:stream';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { attempt } from '../../../lib/shared/attempt.ts';
import type { RuntimeCommand, RuntimeProcess, TerminalSize } from '../command.ts';
import { inside, type SimProcessView } from './commands.ts';
import { runProgram } from './shell.ts';

export interface SimProcessContext {
  readonly rootfs: string;
  readonly hostname: string;
  /** Called with all output, read or not. */
  readonly onOutput?: (chunk: Buffer) => void;
}

const hangUp = 1;
const interrupt = 2;
const kill = 9;
const brokenPipe = 13;
/** Ignored by default: child ended, continue, urgent data, window changed. */
const harmless = new Set([17, 18, 23, 28]);
const lastSignal = 64;

export function startSimProcess(command: RuntimeCommand, context: SimProcessContext): RuntimeProcess {
  const { stdio } = command;
  const end = new AbortController();
  let killedBy = 0;
  const raise = (signal: number): void => {
    if (!Number.isInteger(signal) || signal < 1 || signal > lastSignal || harmless.has(signal) || killedBy > 0) return;
    killedBy = signal;
    end.abort(new Error(`ended by signal ${signal}`));
  };
  const hasTerminal = stdio.kind === 'terminal';
  let size: TerminalSize | undefined = hasTerminal ? stdio.size : undefined;
  const isNull = stdio.kind === 'null';
  const [input, output, errors] = [stream(), stream(), stream()];
  const writeTo = (to: PassThrough) => async (content: string | Buffer) => {
    end.signal.throwIfAborted();
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
    const chunk = hasTerminal ? Buffer.from(bytes.toString('latin1').replaceAll('\n', '\r\n'), 'latin1') : bytes;
    context.onOutput?.(chunk);
    if (isNull) return;
    if (to.destroyed) raise(brokenPipe);
    end.signal.throwIfAborted();
    if (!to.write(chunk)) await once(to, 'drain', { signal: end.signal });
  };
  const out = writeTo(output);
  // When a reader stops, a writer waiting for room must end.
  for (const one of [output, errors]) one.once('close', () => one.writableNeedDrain && raise(brokenPipe));
  // A terminal without a holder hangs up.
  if (hasTerminal) output.once('close', () => raise(hangUp));
  const process: SimProcessView = {
    ...context,
    env: environment(command),
    cwd: enteredBy(command, context.rootfs),
    uid: command.uid ?? 0,
    gid: command.gid ?? 0,
    terminal: () => size,
    read: isNull ? () => Promise.resolve(undefined) : reader(input, end.signal),
    out,
    err: hasTerminal ? out : writeTo(errors),
    signal: end.signal,
  };
  const exited = runProgram(command.argv, { ...process, raise })
    .catch(() => 1)
    .then((code) => {
      for (const one of [output, errors]) one.end();
      input.destroy();
      return killedBy > 0 ? 128 + killedBy : code;
    });
  const stdin = hasTerminal ? terminalInput(input, { echo: (chunk) => output.write(chunk), raise }) : input;
  return {
    ...(isNull ? {} : { stdin, stdout: output }),
    ...(stdio.kind === 'pipes' ? { stderr: errors } : {}),
    resize: (to) => {
      if (size !== undefined) size = to;
    },
    signal: raise,
    kill: () => raise(kill),
    exited,
  };
}

function stream(): PassThrough {
  const made = new PassThrough({ highWaterMark: 64 * 1024 });
  made.on('error', () => {});
  return made;
}

const environment = (command: RuntimeCommand): Readonly<Record<string, string>> => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ...((command.uid ?? 0) === 0 ? { HOME: '/root', USER: 'root' } : {}),
  LANG: 'C.UTF-8',
  ...command.env,
});

function reader(input: PassThrough, signal: AbortSignal): () => Promise<Buffer | undefined> {
  return async () => {
    for (;;) {
      signal.throwIfAborted();
      const chunk = input.read() as Buffer | null;
      if (chunk !== null) return chunk;
      if (input.readableEnded || input.destroyed) return undefined;
      await Promise.race([once(input, 'readable', { signal }), once(input, 'end', { signal })]);
    }
  };
}

/** Echo, line editing by backspace, ^C and ^D; passes a line on when it is complete. */
function terminalInput(
  input: PassThrough,
  to: { readonly echo: (chunk: Buffer) => void; readonly raise: (signal: number) => void },
): Writable {
  let line = '';
  const take = (char: string): void => {
    if (char === '\x03') {
      to.echo(Buffer.from('^C\r\n'));
      to.raise(interrupt);
    } else if (char === '\x04') {
      if (line === '') input.end();
      else input.write(Buffer.from(line, 'latin1'));
      line = '';
    } else if (char === '\x7f') {
      if (line !== '') to.echo(Buffer.from('\b \b'));
      line = line.slice(0, -1);
    } else if (char === '\r' || char === '\n') {
      to.echo(Buffer.from('\r\n'));
      input.write(Buffer.from(`${line}\n`, 'latin1'));
      line = '';
    } else {
      to.echo(Buffer.from(char, 'latin1'));
      line += char;
    }
  };
  const typed = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      for (const char of chunk.toString('latin1')) if (!input.writableEnded) take(char);
      done();
    },
    final: (done) => {
      if (!input.writableEnded) input.end();
      done();
    },
  });
  typed.on('error', () => {});
  return typed;
}

function enteredBy({ cwd = '/root' }: RuntimeCommand, rootfs: string): string {
  const isThere = (): boolean => {
    const real = inside({ rootfs, cwd: '/' }, cwd);
    return real !== undefined && statSync(real).isDirectory();
  };
  return cwd === '/root' || attempt(isThere, false) ? cwd : '/';
}
