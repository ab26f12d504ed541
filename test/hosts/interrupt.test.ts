// An interrupted lane, with a stand-in for qemu: it leaves no machine, no program and no folder.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.ts';
import { until } from '../support/until.ts';

const loader = new URL('../support/run-typescript.mjs', import.meta.url).href;
const moduleAt = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test.each([
  ['a machine that boots', 'qemu-system-x86_64', 130, 'SIGINT'],
  ['a program of the lane', 'cp', 143, 'SIGTERM'],
] as const)('a signal ends %s and removes its folder', async (_what, stub, code, signal) => {
  const folder = tempFolder('gantry-lane-');
  const [bin, cache, noted] = [join(folder, 'bin'), join(folder, 'cache'), join(folder, 'pid')];
  mkdirSync(bin);
  mkdirSync(cache);
  writeFileSync(join(folder, 'disk'), '');
  // The program starts another one, which must end, too.
  writeFileSync(join(bin, stub), `#!/bin/sh\nsleep 1000 &\necho $$ $! >${noted}.new; mv ${noted}.new ${noted}\nwait\n`);
  chmodSync(join(bin, stub), 0o755);
  const script = `
    import { endOnSignals, interruptedCode } from ${moduleAt('interrupt.ts')};
    import { Machine } from ${moduleAt('machine.ts')};
    endOnSignals();
    await Machine.boot({ disk: '${folder}/disk', kernel: 'k', initrd: 'i' }, [], '${folder}/console').catch(() => undefined);
    process.exitCode = interruptedCode() ?? 1;`;
  const lane = spawn(process.execPath, [`--import=${loader}`, '--input-type=module', '-e', script], {
    env: { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}`, GANTRY_HOSTS_CACHE: cache },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = once(lane, 'exit');
  await until(() => existsSync(noted));
  const pids = readFileSync(noted, 'utf8').split(' ').map(Number);
  expect(readdirSync(cache)).toHaveLength(1);
  lane.kill(signal);
  try {
    expect(await ended).toEqual([code, null]);
    expect(readdirSync(cache)).toEqual([]);
    const [started = 0, below = 0] = pids;
    await until(() => !isAlive(started));
    // A machine has no programs below it.
    if (stub !== 'qemu-system-x86_64') await until(() => !isAlive(below));
  } finally {
    for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
  }
});
