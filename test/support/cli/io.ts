// A process for the CLI: collected output, scripted input, interrupts on demand.
import { existsSync } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import type { CliIo } from '../../../reconciler/cli/output/process-io.ts';
import { runCli } from '../../../reconciler/cli/program/run.ts';
import { tempFolder } from '../temp-folder.ts';

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliSetting {
  readonly env?: Readonly<Record<string, string>>;
  /** Input typed on a terminal; without it stdin is not a terminal. */
  readonly typed?: string;
  /** All of stdin, which then ends and is not a terminal. */
  readonly piped?: string;
  readonly stderrTty?: boolean;
  readonly stdoutTty?: boolean;
  readonly userId?: number;
  /** The offset of a wrong clock. */
  readonly nowMs?: () => number;
  /** Called with the text written to stdout, as it is written. */
  readonly onStdout?: (text: string) => void;
  readonly onStderr?: (text: string) => void;
  /** Called when the terminal becomes raw, and when it is restored. */
  readonly onRaw?: (isRaw: boolean) => void;
  /** Gets a function that interrupts the run. */
  readonly interrupts?: (interrupt: () => void) => void;
}

export async function cli(argv: readonly string[], setting: CliSetting = {}): Promise<CliRun> {
  const stdout = collector(setting.onStdout);
  const stderr = collector(setting.onStderr);
  const stdin = new PassThrough();
  if (setting.typed !== undefined) stdin.write(setting.typed);
  if (setting.piped !== undefined) stdin.end(setting.piped);
  const io: CliIo = {
    argv,
    // Tests write each stack into a separate folder and working directory, which must all count as one place. The contexts and logins of the
    // developer are none of a test's.
    env: {
      XDG_STATE_HOME: stateHome(),
      ...(setting.env?.['HOME'] === undefined ? { XDG_CONFIG_HOME: stateHome() } : {}),
      GANTRY_PLACE: 'tests',
      ...setting.env,
    },
    stdin: Object.assign(stdin, { isTTY: setting.typed !== undefined }),
    stdout: Object.assign(stdout.stream, { isTTY: setting.stdoutTty === true }),
    stderr: Object.assign(stderr.stream, { isTTY: setting.stderrTty === true, columns: 80 }),
    userId: setting.userId ?? 0,
    nowMs: setting.nowMs ?? Date.now,
    ...(setting.onRaw === undefined ? {} : { setRaw: setting.onRaw }),
    onInterrupt: (listener) => {
      setting.interrupts?.(listener);
      return () => {};
    },
  };
  const code = await runCli(io);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Journals of tests are written only here. */
let state: string | undefined;
function stateHome(): string {
  // Files of tests share this module, and each removes its folders at its end.
  if (state === undefined || !existsSync(state)) state = tempFolder('gantry-state-');
  return state;
}

function collector(tell?: (text: string) => void): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      // An empty write, as by a flush, produces no data at the other end of a pipe.
      if (chunk.length > 0) tell?.(chunk.toString('utf8'));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}
