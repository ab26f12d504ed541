// gantryd starts without V8's optimizing compiler, whose work would be wasted at a start, and enables it afterwards.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createClient } from '../../../server/client/client.ts';
import { buildPrograms, plainEnv } from '../../support/cli/programs.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const programs = buildPrograms();

/** Counts the functions that V8 optimized in a daemon after so many requests. */
async function optimizedAfter(requests: number): Promise<number> {
  const dir = tempFolder('gto-');
  const argv = ['--trace-opt', programs.gantryd, '--state-dir', dir, '--runtime', 'sim', '--log-level', 'error'];
  const daemon = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'], env: plainEnv() });
  const ended = new Promise<void>((resolve) => daemon.once('close', () => resolve()));
  try {
    let said = '';
    daemon.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    await until(() => said.includes('"type":"ready"'));
    const client = createClient(`unix://${join(dir, 'unix.socket')}`);
    for (let count = 0; count < requests; count += 1) await client.server();
    await client.close();
    daemon.kill('SIGTERM');
    await ended;
    return said.match(/completed optimizing/g)?.length ?? 0;
  } finally {
    daemon.kill('SIGKILL');
  }
}

test('a start optimizes next to nothing, and requests after it are optimized', async () => {
  expect(await optimizedAfter(0)).toBeLessThan(5);
  expect(await optimizedAfter(800)).toBeGreaterThan(20);
});
