// Another process that opens a store file: started from the compiled store-child, read line by line, killed hard.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface StoreProcess {
  readonly lines: readonly string[];
  /** Resolves at the first line that is exactly, or starts with, `start`; rejects when the process ends without one. */
  readonly said: (start: string) => Promise<string>;
  /** SIGKILL; resolves when the process has ended and all its output is in `lines`. */
  readonly kill: () => Promise<void>;
  readonly stderr: () => string;
}

export function startStoreProcess(...args: string[]): StoreProcess {
  const script = process.env['GANTRY_STORE_CHILD'];
  if (script === undefined) throw new Error('GANTRY_STORE_CHILD is not set: run by test/vitest.config.ts');
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const listeners = new Set<() => void>();
  let errors = '';
  let isGone = false;
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    tell();
  });
  child.on('close', () => {
    isGone = true;
    tell();
  });
  const gone = once(child, 'close');

  const said = (start: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const line = lines.find((candidate) => candidate.startsWith(start));
        if (line === undefined && !isGone) return;
        listeners.delete(look);
        if (line === undefined) reject(new Error(`the store process ended without saying ${start}: ${errors}`));
        else resolve(line);
      };
      listeners.add(look);
      look();
    });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  return { lines, said, kill, stderr: () => errors };
}
