// Runs a program of this machine for the lane; its output is part of the error when it fails.
import { spawn } from 'node:child_process';
import { interrupted } from './interrupt.ts';

export async function program(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  interrupted.throwIfAborted();
  // A group of its own, so that the programs that it starts end with it.
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const end = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGTERM'));
  interrupted.addEventListener('abort', end, { once: true });
  const [said, complained]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => complained.push(chunk));
  try {
    const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
    interrupted.throwIfAborted();
    if (code === 0) return Buffer.concat(said).toString();
    throw new Error(
      Buffer.concat([...said, ...complained])
        .toString()
        .slice(-3000),
    );
  } catch (error) {
    interrupted.throwIfAborted();
    throw new Error(`${file} ${args.join(' ')} failed:\n${(error as Error).message}`, { cause: error });
  } finally {
    interrupted.removeEventListener('abort', end);
  }
}
