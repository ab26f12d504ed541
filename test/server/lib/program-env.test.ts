// The environment of programs does not depend on that of the daemon.
import { afterEach, expect, test } from 'vitest';
import { exec } from '../../../server/lib/exec.ts';
import { programEnv } from '../../../server/lib/program-env.ts';

const before = { ...process.env };
afterEach(() => void (process.env = { ...before }));

test('a program finds those of the superuser, and speaks English, whatever the daemon was started with', async () => {
  process.env = { PATH: '/nowhere', LC_ALL: 'de_DE.UTF-8', SECRET: 'x' };
  const { stdout } = await exec(['env']);
  expect(stdout.trim().split('\n').toSorted()).toEqual([
    'LC_ALL=C',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ]);
});

test('no program gets an empty environment: those that it starts would not be found', async () => {
  expect(programEnv.PATH.split(':')).toEqual(expect.arrayContaining(['/usr/sbin', '/sbin', '/usr/bin', '/bin']));
});
