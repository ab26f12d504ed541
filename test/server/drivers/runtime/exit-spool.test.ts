// The hook that LXC runs when the init of a container has ended, run as LXC runs it: `exec VALUE NAME SECTION TYPE` in a shell.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ExitSpool } from '../../../../server/drivers/runtime/lxc/exit-spool.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let dir = '';
let spool: ExitSpool;
beforeEach(() => {
  dir = tempFolder('gantry-spool-');
  spool = new ExitSpool(join(dir, 'exits'));
});
afterEach(() => spool.close());

function runHook(target: 'reboot' | 'stop'): { readonly hasEnded: () => boolean } {
  let ended = false;
  const command = `exec ${spool.hookCommand('c1')} c1 lxc post-stop`;
  spawn('sh', ['-c', command], { env: { LXC_TARGET: target, PATH: '/usr/bin:/bin' } }).once('exit', () => {
    ended = true;
  });
  return { hasEnded: () => ended };
}

const silent = { error: (text: string) => expect.unreachable(text) } as never;

test('a reboot waits until all listeners are done, and then continues', async () => {
  const woken: string[] = [];
  spool.start(
    (key) => woken.push(key),
    (error) => expect.unreachable(error.message),
  );
  const done: string[] = [];
  const hook = runHook('reboot');
  spool.betweenBoots(async (name) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    done.push(`${name} ${hook.hasEnded() ? 'too late' : 'in time'}`);
  });
  await until(() => woken.includes('c1'));
  expect(readFileSync(join(dir, 'exits/c1'), 'utf8')).toBe('reboot\n');
  await spool.answer('c1', 'web', silent);
  expect(done).toEqual(['web in time']);
  await until(hook.hasEnded);
  expect(existsSync(join(dir, 'exits/c1'))).toBe(false);
});

test('A stop does not wait, and its message stays for a daemon that starts later', async () => {
  spool.start(
    () => {},
    () => {},
  );
  const hook = runHook('stop');
  await until(hook.hasEnded);
  expect(readFileSync(join(dir, 'exits/c1'), 'utf8')).toBe('stop\n');
});

test('A reboot without a daemon does not wait', async () => {
  const hook = runHook('reboot');
  await until(hook.hasEnded);
  expect(existsSync(join(dir, 'exits/c1'))).toBe(true);
});
