// Log files of containers over the real daemon: which exist, which may be read and removed, and when they expire.
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { keepLogsMs, pruneLogs } from '../../../../server/services/containers/exec/logs.ts';
import { moveLogsBack } from '../../../../server/services/containers/shared/move-logs.ts';
import { createContainer, makeDaemon, realRuntimeMissing, seed, setState } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';

const missing = await realRuntimeMissing();
const daemon = await seededDaemon();
beforeAll(() => createContainer(daemon, 'c1'));

const place = (container: string, file: string): string => join(daemon.dir, 'logs', container, file);
function write(container: string, file: string, ageMs = 0): string {
  mkdirSync(join(daemon.dir, 'logs', container), { recursive: true });
  writeFileSync(place(container, file), `content of ${file}`);
  const at = new Date(Date.now() - ageMs);
  utimesSync(place(container, file), at, at);
  return `/1.0/containers/${container}/logs/${file}`;
}
const logs = '/1.0/containers/c1/logs';

test('the list has URLs of log files only; without any, and for unknown containers, it is empty', async () => {
  expect(await daemon.get(logs)).toEqual([]);
  expect(await daemon.get('/1.0/containers/never/logs')).toEqual([]);
  const urls = ['console.log', 'exec_1.stderr', 'exec_1.stdout', 'lxc.conf', 'lxc.log'].map((file) =>
    write('c1', file),
  );
  write('c1', 'private.key');
  expect(await daemon.get(logs)).toEqual(urls);
  expect((await daemon.call('GET', urls[4] ?? '')).bytes.toString()).toBe('content of lxc.log');
});

test('the log of a container that never started is empty', async () => {
  await createContainer(daemon, 'quiet');
  const log = await daemon.call('GET', '/1.0/containers/quiet/logs/lxc.log');
  expect([log.status, log.bytes.toString()]).toEqual([200, '']);
  expect((await daemon.call('GET', '/1.0/containers/quiet/logs/lxc.conf')).status).toBe(404);
  expect((await daemon.call('GET', '/1.0/containers/never/logs/lxc.log')).status).toBe(404);
});

test('logs of a container are deleted with it; the list of a deleted one is empty', async () => {
  await createContainer(daemon, 'gone');
  const url = write('gone', 'exec_2.stdout');
  expect(await daemon.get('/1.0/containers/gone/logs')).toEqual([url]);
  await daemon.ok('DELETE', '/1.0/containers/gone');
  expect(await daemon.get('/1.0/containers/gone/logs')).toEqual([]);
  expect((await daemon.call('GET', url)).status).toBe(404);
});

test('logs that a former container left at a name do not prevent a renaming to it, and its undo spares them', async () => {
  await createContainer(daemon, 'here');
  write('here', 'exec_5.stdout');
  const left = place('there', 'exec_4.stdout');
  write('there', 'exec_4.stdout');
  await moveLogsBack(join(daemon.dir, 'logs'), 'here', 'there');
  expect([existsSync(left), existsSync(place('here', 'exec_5.stdout'))]).toEqual([true, true]);
  await daemon.ok('POST', '/1.0/containers/here', { name: 'there' });
  expect(await daemon.get('/1.0/containers/there/logs')).toEqual(['/1.0/containers/there/logs/exec_5.stdout']);
  await daemon.ok('DELETE', '/1.0/containers/there');
});

test('logs of single tasks can be removed; logs of the container cannot', async () => {
  for (const file of ['exec_3.stdout', 'snapshot_x', 'migration_y.log']) {
    const url = write('c1', file);
    expect([file, (await daemon.call('DELETE', url)).status]).toEqual([file, 200]);
    expect([file, (await daemon.call('DELETE', url)).status]).toEqual([file, 404]);
    expect(existsSync(place('c1', file))).toBe(false);
  }
  for (const file of ['lxc.log', 'lxc.conf', 'console.log']) {
    expect([file, (await daemon.call('DELETE', write('c1', file))).status]).toEqual([file, 400]);
    expect(existsSync(place('c1', file))).toBe(true);
  }
});

test.each([
  'private.key',
  'exec_',
  'exec_..%2f..%2fdatabase%2fstate.db',
  '..%2f..%2fserver.key',
  '%2e%2e%2fc1%2flxc.log',
  'lxc.log%00',
  'lxc.log%2f',
  'exec_%0a',
  'LXC.LOG',
])('the file name %s is refused, for reading and removing', async (file) => {
  write('c1', 'private.key');
  for (const method of ['GET', 'DELETE']) expect((await daemon.call(method, `${logs}/${file}`)).status).toBe(400);
});

test.each(['..', '%2e%2e', '..%2f..', 'c1%2f..%2fc1', '.hidden%2f..', '%00'])(
  'the container name %s is refused',
  async (name) => {
    for (const path of [`/1.0/containers/${name}/logs`, `/1.0/containers/${name}/logs/lxc.log`]) {
      const answer = await daemon.call('GET', path);
      expect([400, 404]).toContain(answer.status);
    }
  },
);

describe('pruning', () => {
  const prune = (isKnown: (name: string) => boolean): Promise<number> =>
    pruneLogs({ logsDir: join(daemon.dir, 'logs'), isKnown, nowMs: Date.now() });

  test('deletes logs older than 48 hours: of single tasks, and all of deleted containers', async () => {
    const old = keepLogsMs + 60_000;
    write('known', 'exec_old.stdout', old);
    write('known', 'exec_new.stdout', keepLogsMs - 60_000);
    write('known', 'lxc.log', old);
    write('vanished', 'lxc.log', old);
    write('vanished', 'exec_1.stdout', old);
    write('recent', 'lxc.log');
    expect(await prune((name) => name === 'known' || name === 'c1')).toBe(3);
    expect(existsSync(place('known', 'exec_old.stdout'))).toBe(false);
    expect(existsSync(place('known', 'exec_new.stdout'))).toBe(true);
    expect(existsSync(place('known', 'lxc.log'))).toBe(true);
    expect(existsSync(join(daemon.dir, 'logs/vanished'))).toBe(false);
    expect(existsSync(place('recent', 'lxc.log'))).toBe(true);
    expect(await prune(() => true)).toBe(0);
  });
});

test.skipIf(missing !== undefined)(
  'a failed start leaves its reason in lxc.log, with the configuration in use',
  async () => {
    const real = await makeDaemon({ runtime: 'lxc' });
    try {
      await seed(real);
      await createContainer(real, 'bad');
      expect((await setState(real, 'bad', 'start')).status).toBe('Failure');
      expect(await real.get('/1.0/containers/bad/logs')).toEqual(
        expect.arrayContaining(['/1.0/containers/bad/logs/lxc.conf', '/1.0/containers/bad/logs/lxc.log']),
      );
      expect((await real.call('GET', '/1.0/containers/bad/logs/lxc.conf')).bytes.toString()).toContain(
        'lxc.uts.name = bad',
      );
    } finally {
      await real.cleanUp();
    }
  },
);

test('a container that ran, simulated or not, has the log that clients request by name', async () => {
  await createContainer(daemon, 'ran');
  await setState(daemon, 'ran', 'start');
  const answer = await daemon.call('GET', '/1.0/containers/ran/logs/lxc.log');
  expect([answer.status, answer.bytes.toString()]).toEqual([200, '']);
});
