// Runs a program of this machine for the lane; its output is part of the error when it fails.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export async function program(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    const { stdout } = await run(file, args, { maxBuffer: 64 * 1024 * 1024, ...options });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${file} ${args.join(' ')} failed:\n${`${stdout}${stderr}`.slice(-3000)}`, { cause: error });
  }
}
