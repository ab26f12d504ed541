// The history of a set: each apply with its author, reason and differences, and rollback, on the simulation and on a stock LXD.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { openBench, packImage, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { isLongRun } from '../../support/left-out.ts';

interface Listed {
  readonly number: number;
  readonly message?: string;
  readonly outcome: string;
  readonly kept: boolean;
  readonly commit?: string;
  readonly rollback_of?: number;
  readonly changes: readonly string[];
}

/** Only profiles: no container has to start. */
const profileOf = (name: string, config: string): string => `kind: profile\nname: ${name}\nconfig: { ${config} }\n`;

describe.each(await benchHosts('history', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  /** What only concerns gantry is shown on one server; a long run shows it on both. */
  const onOne = test.skipIf(host === 'lxd' && !isLongRun);
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());

  const on = (...words: readonly string[]): Promise<CliRun> =>
    cli([...words, '--host', `unix://${bench.daemon.socketPath}`], { env: environment });
  let environment: Record<string, string> = {};
  const applied = async (set: string, text: string, ...more: readonly string[]): Promise<CliRun> => {
    const file = join(bench.dir, `${set}.yaml`);
    writeFileSync(file, text);
    const run = await on('apply', file, '--auto-approve', '--set', set, ...more);
    expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(0);
    return run;
  };
  const listed = async (set: string): Promise<readonly Listed[]> =>
    JSON.parse((await on('history', '--set', set, '-o', 'json')).stdout) as Listed[];
  const configOf = async (name: string): Promise<Record<string, string>> =>
    ((await bench.get(`/1.0/profiles/${name}`)) as { config: Record<string, string> }).config;
  const notes = async (set: string): Promise<Record<string, string>> => {
    const { config } = (await bench.get('/1.0')) as { config: Record<string, string> };
    return Object.fromEntries(Object.entries(config).filter(([key]) => key.includes(`.${set}`)));
  };

  test('every apply leaves a revision with author, reason, changes and documents; one without changes leaves none', async () => {
    await applied('one', profileOf('one-a', 'user.x: "1"'), '-m', 'first of all');
    await applied('one', `${profileOf('one-a', 'user.x: "2"')}---\n${profileOf('one-b', 'user.y: z')}`);
    await applied('one', `${profileOf('one-a', 'user.x: "2"')}---\n${profileOf('one-b', 'user.y: z')}`);
    const [second, first, ...none] = await listed('one');
    expect(none).toEqual([]);
    expect(first).toMatchObject({ number: 1, message: 'first of all', outcome: 'done', kept: true, partial: false });
    expect(first?.changes).toEqual(['+profile/one-a']);
    expect(second).toMatchObject({ number: 2, outcome: 'done', summary: { add: 1, change: 1, destroy: 0 } });
    const table = (await on('history', '--set', 'one')).stdout;
    expect(table).toMatch(/REVISION +WHEN +WHO/);
    expect(table).toMatch(/\n1 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /);
    expect(table).toMatch(/\n1 .*@.* \+1 ~0 -0 +done +first of all/);
    const shown = await on('history', 'show', '1', '--set', 'one');
    expect(shown.stdout).toContain('# first of all\n');
    expect(shown.stdout).toContain('kind: profile\nname: one-a\n');
    const diff = await on('history', 'diff', '1', '2', '--set', 'one');
    expect(diff.code).toBe(1);
    expect(diff.stdout).toContain('-  user.x: "1"\n+  user.x: "2"');
    expect(diff.stdout).toContain('+++ revision 2/profile/one-b');
    expect((await on('history', 'diff', '2', '--set', 'one')).code).toBe(0);
    for (const [number, code] of [
      ['9', 1],
      ['x', 64],
    ] as const)
      expect((await on('history', 'show', number, '--set', 'one')).code).toBe(code);
    expect((await on('history', '--set', 'none')).stderr).toMatch(/these have: .*one/);
  });

  onOne('rolls back to the last good revision, keeps later objects, and prunes them only on request', async () => {
    const one = profileOf('two-a', 'user.x: "1"');
    await applied('two', one);
    await applied('two', `${profileOf('two-a', 'user.x: "2"')}---\n${profileOf('two-b', 'user.y: z')}`);
    const back = await on('rollback', '--set', 'two', '-y');
    expect(back.code, back.stderr).toBe(0);
    expect(back.stdout).toContain('~ user.x'.replace('user.x', 'config.user.x'));
    expect(back.stdout).toContain('no longer declared, left alone');
    expect((await configOf('two-a'))['user.x']).toBe('1');
    expect((await configOf('two-b'))['user.y']).toBe('z');
    writeFileSync(join(bench.dir, 'two.yaml'), one);
    expect((await on('plan', join(bench.dir, 'two.yaml'), '--set', 'two', '--detailed-exitcode')).code).toBe(0);
    const [newest] = await listed('two');
    expect(newest).toMatchObject({ number: 3, rollback_of: 1, message: 'rollback to revision 1', outcome: 'done' });
    const again = await on('rollback', '1', '--set', 'two', '--prune', '-y');
    expect(again.code, again.stderr).toBe(0);
    expect((await bench.daemon.call('GET', '/1.0/profiles/two-b')).status).toBe(404);
    const nothing = await on('rollback', '1', '--set', 'two', '-y');
    expect([nothing.code, nothing.stdout]).toEqual([0, expect.stringContaining('The host already matches revision 1')]);
    // The plan needs approval.
    expect((await on('rollback', '2', '--set', 'two')).code).toBe(64);
    expect((await on('rollback', '7', '--set', 'two', '-y')).code).toBe(1);
    expect((await on('rollback', '1', '--prune', '-y')).code).toBe(64);
  });

  test('has no secret, restores those that still exist, and refuses the rollback when one is missing', async () => {
    const written = (password: string, x: string): string =>
      profileOf('three', `environment.DB_PASSWORD: ${password}, environment.TOKEN: {from_env: TOKEN}, user.x: "${x}"`);
    environment = { TOKEN: 'tok-sesame' };
    await applied('three', written('open-sesame', '1'));
    await applied('three', written('open-sesame', '2'));
    const everything = JSON.stringify(await notes('three'));
    expect(everything).not.toContain('sesame');
    for (const run of [
      await on('history', 'show', '1', '--set', 'three'),
      await on('history', 'show', '1', '--set', 'three', '-o', 'json'),
      await on('history', 'diff', '1', '2', '--set', 'three'),
    ])
      expect(`${run.stdout}${run.stderr}`).not.toContain('sesame');
    expect((await on('history', 'show', '1', '--set', 'three')).stdout).toContain(
      'from_env: PROFILE_THREE_ENVIRONMENT_DB_PASSWORD',
    );
    const same = await on('rollback', '1', '--set', 'three', '-y');
    expect(same.code, same.stderr).toBe(0);
    expect(same.stdout).not.toContain('sesame');
    expect(await configOf('three')).toMatchObject({ 'environment.DB_PASSWORD': 'open-sesame', 'user.x': '1' });
    await applied('three', written('changed', '3'));
    const gone = await on('rollback', '1', '--set', 'three', '-y');
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain('profile/three config.environment.DB_PASSWORD');
    expect((await configOf('three'))['user.x']).toBe('3');
    const given = await on('rollback', '1', '--set', 'three', '-y', '-f', join(bench.dir, 'three.yaml'));
    expect(given.code, given.stderr).toBe(0);
    expect(await configOf('three')).toMatchObject({ 'environment.DB_PASSWORD': 'changed', 'user.x': '1' });
    environment = {};
    await applied('three', profileOf('three', 'environment.DB_PASSWORD: changed, user.x: "4"'));
    const unset = await on('rollback', '4', '--set', 'three', '-y', '-f', join(bench.dir, 'three.yaml'));
    expect([unset.code, unset.stderr]).toEqual([1, expect.stringContaining('the environment has no TOKEN')]);
  });

  onOne('an incomplete run is marked, and a rollback to it needs a flag', async () => {
    for (const x of ['1', '2', '3']) await applied('half', profileOf('half', `user.x: "${x}"`));
    const key = 'user.gantry.history.half';
    const index = JSON.parse((await notes('half'))[key] ?? '') as { revisions: { n: number; outcome: string }[] };
    for (const one of index.revisions) if (one.n === 2) one.outcome = 'running';
    await bench.daemon.call('PATCH', '/1.0', { config: { [key]: JSON.stringify(index) } });
    expect((await on('history', '--set', 'half')).stdout).toMatch(/\n2 .*broken off/);
    expect((await on('rollback', '--set', 'half', '-y')).code).toBe(0);
    expect((await configOf('half'))['user.x']).toBe('1');
    // Other keys do not count as history, and the next apply begins a new one.
    await bench.daemon.call('PATCH', '/1.0', { config: { [key]: '{"v":1,"revisions":"x' } });
    expect(await listed('half')).toEqual([]);
    expect((await on('rollback', '--set', 'half', '-y')).code).toBe(1);
    await applied('half', profileOf('half', 'user.x: "9"'));
    expect((await listed('half')).map(({ number }) => number)).toEqual([1]);
    const [document] = Object.keys(await notes('half')).filter((name) => name.includes('.documents.'));
    await bench.daemon.call('PATCH', '/1.0', { config: { [document ?? '']: 'AAAA' } });
    const damaged = await on('history', 'show', '1', '--set', 'half');
    expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('are damaged')]);
  });

  onOne('its growth is bounded, and it outlives the objects of the set', async () => {
    for (const x of ['1', '2', '3', '4'])
      await applied('four', profileOf('four', `user.x: "${x}"`), '--history-limit', '2');
    expect((await listed('four')).map(({ number }) => number)).toEqual([4, 3]);
    const kept = Object.keys(await notes('four')).filter((key) => key.includes('documents'));
    expect(kept.length).toBe(2);
    await applied('four', profileOf('four', 'user.x: "5"'), '--history-limit', '0');
    expect(Object.keys(await notes('four')).filter((key) => !key.endsWith('set.four'))).toEqual([]);
    await applied('four', profileOf('four', 'user.x: "6"'));
    expect((await on('apply', join(bench.dir, 'four.yaml'), '-y', '-m', 'x'.repeat(1001))).code).toBe(64);
    const end = await on('destroy', join(bench.dir, 'four.yaml'), '-y', '--set', 'four');
    expect(end.code, end.stderr).toBe(0);
    expect((await listed('four')).map(({ number, outcome }) => [number, outcome])).toEqual([
      [2, 'done'],
      [1, 'done'],
    ]);
    expect(await notes('four')).not.toHaveProperty(['user.gantry.set.four']);
    const back = await on('rollback', '1', '-y', '--set', 'four');
    expect(back.code, back.stderr).toBe(0);
    expect(await configOf('four')).toMatchObject({ 'user.x': '6' });
  });

  onOne('a commit, a part and a saved plan are recorded', async () => {
    const folder = join(bench.dir, 'five');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'five.yaml');
    const text = (x: string): string =>
      `${profileOf('five-a', `user.x: "${x}"`)}---\n${profileOf('five-b', `user.x: "${x}"`)}`;
    writeFileSync(file, text('1'));
    const git = (...args: readonly string[]): string => {
      const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.org'];
      return execFileSync('git', ['-C', folder, ...who, ...args], { encoding: 'utf8' });
    };
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'one');
    const set = ['--set', 'five', '-y'] as const;
    expect((await on('apply', file, ...set)).code).toBe(0);
    writeFileSync(file, text('2'));
    expect((await on('apply', file, ...set, '--target', 'profile/five-b')).code).toBe(0);
    expect((await on('plan', file, '--set', 'five', '--out', join(bench.dir, 'five.plan'))).code).toBe(0);
    expect((await on('apply', join(bench.dir, 'five.plan'), '-m', 'as looked at')).code).toBe(0);
    const [third, second, first] = await listed('five');
    const commit = git('rev-parse', 'HEAD').trim();
    expect(first).toMatchObject({ commit, partial: false });
    expect(second).toMatchObject({ commit: `${commit}+`, partial: true });
    expect(third).toMatchObject({ message: 'as looked at', partial: false, outcome: 'done' });
    const part = await on('rollback', '2', ...set);
    expect(part.stderr).toContain('Revision 2 covers only a part');
    expect((await on('rollback', '2', ...set, '--prune')).code).toBe(64);
    const whole = await on('rollback', '1', ...set);
    expect(whole.code, whole.stderr).toBe(0);
    expect((await configOf('five-a'))['user.x']).toBe('1');
  });

  test.skipIf(host === 'lxd')(
    'images of a revision are used while the server has them, and reported when they are missing',
    async () => {
      packImage(bench.dir, 'six.tar.gz', 'six');
      const image = `kind: image\nname: six\nfile: six.tar.gz\naliases: [six]\n`;
      await applied('six', image);
      await applied('six', `${image}---\n${profileOf('six', 'user.x: "1"')}`);
      packImage(bench.dir, 'six.tar.gz', 'seven');
      const stays = await on('rollback', '1', '--set', 'six', '--prune', '-y');
      expect(stays.code, stays.stderr).toBe(0);
      const { target } = (await bench.get('/1.0/images/aliases/six')) as { target: string };
      const ended = await bench.daemon.call('DELETE', `/1.0/images/${target}`);
      await bench.get(`${String(ended.body.operation)}/wait`);
      const other = await on('rollback', '1', '--set', 'six', '-y');
      expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`image/six: ${target}`)]);
      rmSync(join(bench.dir, 'six.tar.gz'));
      const gone = await on('rollback', '1', '--set', 'six', '-y');
      expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('six.tar.gz does not exist')]);
    },
  );
});
