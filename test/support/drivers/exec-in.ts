// Runs commands in containers of a runtime, and waits for their end.
import { text } from 'node:stream/consumers';
import type { RuntimeDriver } from '../../../server/drivers/runtime/driver.ts';
import type { RuntimeCommand, RuntimeProcess } from '../../../server/drivers/runtime/command.ts';

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** As root. 126/127/128+n as in a shell. */
export async function execIn(
  runtime: RuntimeDriver,
  name: string,
  argv: readonly string[],
  options: Pick<RuntimeCommand, 'cwd' | 'env'> = {},
): Promise<ExecResult> {
  const command = { ...options, argv, stdio: { kind: 'pipes' } } as const;
  const { stdin, stdout, stderr, exited } = await runtime.spawn(name, command, new AbortController().signal);
  stdin?.end();
  const [exitCode, out, errors] = await Promise.all([exited, read(stdout), read(stderr)]);
  return { exitCode, stdout: out, stderr: errors };
}

const read = (stream: RuntimeProcess['stdout']): Promise<string> | string => (stream === undefined ? '' : text(stream));
