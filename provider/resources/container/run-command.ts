// Runs a command in a container to its end and keeps the first part of its output.
import { Writable } from 'node:stream';
import type { Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';

export interface CommandSpec {
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>> | null;
  readonly cwd?: string | null;
  readonly user?: number | null;
  readonly group?: number | null;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The output goes into the state, so it must stay small. */
const maxKeptBytes = 64 * 1024;

export async function runCommand(
  context: Context<Link>,
  container: string,
  spec: CommandSpec,
  signal: AbortSignal = context.signal,
): Promise<CommandResult> {
  const [stdout, stderr] = [new BoundedText(), new BoundedText()];
  const session = await context.client.client.exec(
    container,
    {
      command: spec.command,
      ...present('environment', spec.environment),
      ...present('cwd', spec.cwd),
      ...present('user', spec.user),
      ...present('group', spec.group),
      stdout,
      stderr,
    },
    signal,
  );
  const exitCode = await session.exited;
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

const present = <K extends string, T>(name: K, value: T | null | undefined): Partial<Record<K, T>> =>
  value === null || value === undefined ? {} : ({ [name]: value } as Record<K, T>);

class BoundedText extends Writable {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const room = maxKeptBytes - this.#size;
    if (room > 0) this.#chunks.push(chunk.subarray(0, room));
    this.#size += Math.min(chunk.length, Math.max(0, room));
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}
