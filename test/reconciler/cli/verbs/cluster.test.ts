// `gantry cluster`: a cluster formed and joined by three commands, its members, and mistakes of new users.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { decodeJoinToken } from '../../../../server/api/cluster/join-token.ts';
import { cli } from '../../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';

const on = (daemon: TestDaemon, ...words: string[]) =>
  cli(['cluster', ...words, '--host', `unix://${daemon.socketPath}`]);
const asJson = async (daemon: TestDaemon, ...words: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await on(daemon, ...words, '--json');
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
};

test('join refuses an invalid token before it contacts any server', async () => {
  expect(await cli(['cluster', 'join', 'half', '--host', 'unix:///nowhere'])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('copied whole'),
  });
});

describe.skipIf(etcdMissing() !== undefined)('gantry cluster', () => {
  let etcd: TestEtcd;
  let [one, two]: TestDaemon[] = [];
  beforeAll(async () => {
    etcd = await startEtcd({ members: 1 });
    one = await makeDaemon({ clusterStore: { address: `etcd://${etcd.endpoints.join(',')}/verbs` } });
    two = await makeDaemon();
  });
  afterAll(async () => {
    await two?.cleanUp();
    await one?.cleanUp();
    await etcd.stop();
  });

  const refusal = (code: number, stderr: RegExp) =>
    expect.objectContaining({ code, stdout: '', stderr: expect.stringMatching(stderr) });

  test('a host without a cluster says how to make one, and asks for the address of a first member', async () => {
    if (one === undefined) throw new Error('no daemon');
    const verbs = ['list', 'show one', 'add two', 'remove two', 'rename two three', 'evacuate two', 'restore two'];
    for (const verb of verbs)
      expect([verb, await on(one, ...verb.split(' '))]).toEqual([
        verb,
        refusal(1, /is not part of a cluster: gantry cluster bootstrap NAME makes one of it/),
      ]);
    expect(await on(one, 'bootstrap', 'one')).toEqual(refusal(64, /Say it with --address HOST:PORT/));
  });

  test('three commands make two hosts a cluster; members are listed, shown, renamed and removed', async () => {
    if (one === undefined || two === undefined) throw new Error('no daemons');
    const addresses = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`] as const;
    expect(await on(one, 'bootstrap', 'one', '--address', addresses[0])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is the first member of a cluster, one'),
    });
    const added = await on(one, 'add', 'two');
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('Good for one use, until 20') });
    expect(decodeJoinToken(added.stdout.trim())).toMatchObject({ server_name: 'two', addresses: [addresses[0]] });
    const joined = await cli(
      ['cluster', 'join', '-', '--json', '--address', addresses[1], '--host', `unix://${two.socketPath}`],
      { piped: added.stdout },
    );
    expect(joined.stderr).toBe('');
    expect(JSON.parse(joined.stdout)).toMatchObject({ server_name: 'two', enabled: true });

    expect((await on(two, 'list', '-o', 'name')).stdout).toBe('one\ntwo\n');
    const table = (await on(one, 'list')).stdout;
    expect(table).toMatch(/^NAME +URL +STATUS/);
    expect(table).toMatch(new RegExp(`two +https://${addresses[1]} +Online`));
    const shown = await on(two, 'show', 'one');
    expect(parse(shown.stdout)).toMatchObject({ server_name: 'one', url: `https://${addresses[0]}`, status: 'Online' });

    expect(await on(one, 'add', 'two')).toMatchObject({ code: 1, stderr: expect.stringMatching(/two.*exists/) });
    for (const verb of ['show m3', 'show one m3', 'remove m3', 'rename m3 x', 'evacuate m3', 'restore m3'])
      expect([verb, await on(one, ...verb.split(' '))]).toEqual([
        verb,
        refusal(1, /The cluster has no member m3.*: its members are one, two/),
      ]);
    expect(await asJson(two, 'rename', 'two', 'second')).toMatchObject({ server_name: 'second', status: 'Online' });
    expect(await on(two, 'rename', 'second', 'zwei')).toMatchObject({ code: 0, stdout: 'zwei\n' });
    expect((await on(one, 'list', '-o', 'name')).stdout).toBe('one\nzwei\n');
    await containersMove(one);
    expect(await asJson(one, 'remove', 'zwei', '--force')).toEqual({ server_name: 'zwei', removed: true });
    expect((await on(one, 'list', '-o', 'name')).stdout).toBe('one\n');
  });

  const containersMove = async (daemon: TestDaemon): Promise<void> => {
    const whereIs = async (): Promise<string> => (await daemon.get('/1.0/containers/web')).location;
    await daemon.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await daemon.ok('POST', '/1.0/containers?target=one', {
      name: 'web',
      source: { type: 'none' },
      devices: { root: { type: 'disk', path: '/', pool: 'default' } },
    });
    const move = (...words: string[]) => cli(['move', 'web', ...words, '--host', `unix://${daemon.socketPath}`]);
    expect(await move('--target', 'zwei')).toMatchObject({ code: 0 });
    expect(await whereIs()).toBe('zwei');
    expect(await move('--target', 'zwei')).toMatchObject({ code: 1, stderr: expect.stringContaining('already') });
    expect(await move('--target', 'one', '--target-host', 'https://other:8443')).toMatchObject({ code: 64 });
    expect(await on(daemon, 'evacuate', 'zwei')).toMatchObject({ code: 0, stdout: 'zwei\n' });
    expect(await whereIs()).toBe('one');
    expect((await on(daemon, 'list')).stdout).toMatch(/zwei .*Evacuated/);
    expect(await on(daemon, 'evacuate', 'zwei', '--mode', 'fly')).toEqual(
      refusal(64, /auto, migrate, live-migrate, stop/),
    );
    expect(await on(daemon, 'restore', 'zwei', '--force')).toMatchObject({ code: 0, stdout: 'zwei\n' });
    expect(await whereIs()).toBe('zwei');
    expect(await asJson(daemon, 'evacuate', 'zwei')).toMatchObject({ server_name: 'zwei', status: 'Evacuated' });
    expect(await asJson(daemon, 'restore', 'zwei')).toMatchObject({ server_name: 'zwei', status: 'Online' });
    await daemon.ok('DELETE', '/1.0/containers/web');
  };
});
