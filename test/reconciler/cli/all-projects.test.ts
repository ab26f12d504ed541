// `gantry get --all-projects`: objects of every project, each once, on a simulated gantryd.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openMemoryDaemon, type MemoryDaemon } from '../../support/daemons/in-memory.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';

let daemon: MemoryDaemon;
const get = (...args: readonly string[]): Promise<CliRun> => cli(['get', ...args, '--host', daemon.host]);

beforeAll(async () => {
  daemon = await openMemoryDaemon();
  const { client } = daemon;
  const { signal } = new AbortController();
  await client.create('storage_pool', { name: 'p1', driver: 'dir', config: {} });
  await client.create('project', { name: 'alpha', config: {} });
  await client.create('project', { name: 'guest', config: { 'features.profiles': 'false' } });
  for (const project of ['default', 'alpha', 'guest']) {
    const own = client.inProject(project);
    const root = { root: { type: 'disk', path: '/', pool: 'p1' } };
    await own.operations.run(
      () => own.create('container', { name: 'web', source: { type: 'none' }, devices: root }, {}, signal),
      signal,
    );
  }
  await client.inProject('alpha').create('profile', { name: 'small', config: { 'user.a': '1' }, devices: {} });
});
afterAll(() => daemon.close());

describe('gantry get --all-projects', () => {
  test('lists containers of the same name with their projects in a table', async () => {
    const { stdout, code } = await get('container', '-A');
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/).slice(0, 3)),
    ).toEqual([
      ['PROJECT', 'NAME', 'STATUS'],
      ['alpha', 'web', 'Stopped'],
      ['default', 'web', 'Stopped'],
      ['guest', 'web', 'Stopped'],
    ]);
  });

  test('lists profiles once, in the project that owns them', async () => {
    const { stdout } = await get('profile', '--all-projects', '-o', 'name');
    expect(stdout.trim().split('\n')).toEqual(['default@alpha', 'small@alpha', 'default']);
  });

  test('finds an object by its name in any project, and by its name with the project', async () => {
    const found = async (address: string): Promise<unknown> => {
      const objects = JSON.parse((await get(address, '-A', '-o', 'json')).stdout) as readonly { project: string }[];
      return objects.map(({ project }) => project);
    };
    expect(await found('container/web')).toEqual(['alpha', 'default', 'guest']);
    expect(await found('container/web@guest')).toEqual(['guest']);
    const missing = await get('container/db', '-A');
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('container/db does not exist')]);
  });

  test('lists kinds that are in no project as without the flag', async () => {
    const plain = await get('storage_pool');
    expect(await get('storage_pool', '-A')).toMatchObject({ code: 0, stdout: plain.stdout });
    expect(plain.stdout).toContain('p1');
  });

  test('refuses to be combined with --project', async () => {
    const { code, stderr } = await get('container', '-A', '--project', 'alpha');
    expect([code, stderr]).toEqual([64, expect.stringContaining('cannot be combined with --project')]);
  });
});
