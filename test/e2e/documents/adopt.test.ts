// Adoption and release: the set then owns objects that it did not make, nothing else about them changes. The first plan is empty, or
// adoption is refused with each difference.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

describe.each(await benchHosts('adoption', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  let count = 0;
  const run = (...argv: readonly string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${bench.daemon.socketPath}`]);
  beforeAll(async () => {
    bench = await openBench(host);
  });
  afterAll(() => bench.close());
  const configOf = async (path: string): Promise<Record<string, string>> =>
    ((await bench.get(path)) as { config: Record<string, string> }).config;
  const byHand = async (config: object): Promise<string> => {
    const name = `hand${(count += 1)}`;
    const answer = await bench.daemon.call('POST', '/1.0/profiles', { name, config, devices: {} });
    expect(answer.status).toBeLessThan(300);
    return name;
  };
  const manifest = (name: string, text: string): string => {
    const file = join(bench.dir, `${name}.yaml`);
    writeFileSync(file, `kind: profile\nname: ${name}\n${text}`);
    return file;
  };

  test('adoption of an unchanged object makes a later prune delete it', async () => {
    const name = await byHand({ 'limits.cpu': '2', 'user.mine': 'x' });
    const file = manifest(name, 'config: { limits.cpu: 2 }\n');
    const before = await configOf(`/1.0/profiles/${name}`);
    const adopted = await run('adopt', `profile/${name}`, '-f', file, '--set', name);
    expect(adopted.code, adopted.stdout + adopted.stderr).toBe(0);
    expect(adopted.stdout).toContain('The plan of the adopted objects is empty.');
    const after = await configOf(`/1.0/profiles/${name}`);
    expect(JSON.parse(after[`user.gantry.own.${name}`] ?? '')).toMatchObject({ w: 1 });
    delete after[`user.gantry.own.${name}`];
    expect(after).toEqual(before);
    expect((await run('plan', file, '--set', name, '--detailed-exitcode')).code).toBe(0);
    const again = await run('adopt', '--all', '-f', file, '--set', name);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('already belongs to the set')]);

    const empty = join(bench.dir, `${name}-empty.yaml`);
    writeFileSync(empty, 'kind: profile\nname: default\n');
    const pruned = await run('apply', empty, '--set', name, '--prune', '-y');
    expect(pruned.code, pruned.stderr).toBe(0);
    expect((await bench.daemon.call('GET', `/1.0/profiles/${name}`)).status).toBe(404);
  });

  test('adoption of a changed object is refused with every difference and changes nothing', async () => {
    const name = await byHand({ 'limits.cpu': '2', 'environment.TOKEN': 'abc123' });
    const file = manifest(name, 'description: other\nconfig: { limits.cpu: 4, environment.TOKEN: xyz }\n');
    const before = await configOf(`/1.0/profiles/${name}`);
    const refused = await run('adopt', `profile/${name}`, '-f', file, '--set', name);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('config.limits.cpu is "2", declared "4"');
    expect(refused.stderr).toContain('description is "", declared "other"');
    expect(refused.stderr).not.toMatch(/abc123|xyz/);
    expect(await configOf(`/1.0/profiles/${name}`)).toEqual(before);
    const absent = manifest('absent', '');
    expect((await run('adopt', 'profile/absent', '-f', absent)).stderr).toContain('does not exist');
    expect((await run('adopt', `profile/${name}`, '-f', absent)).stderr).toContain('No manifest declares');
    expect((await run('adopt')).code).toBe(64);
    expect((await run('adopt', '--all', 'profile/x')).code).toBe(64);
  });

  test('adoption writes the manifests itself, for one object and for a whole host', async () => {
    const name = await byHand({ 'limits.cpu': '3' });
    const file = join(bench.dir, `${name}-written.yaml`);
    const adopted = await run('adopt', `profile/${name}`, '--write', file, '--set', name);
    expect(adopted.code, adopted.stderr).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('limits.cpu: 3');
    expect((await run('plan', file, '--set', name, '--detailed-exitcode')).code).toBe(0);
    expect((await run('adopt', `profile/${name}`, '--write', file)).stderr).toContain('it already exists');
    const all = join(bench.dir, `${name}-all.yaml`);
    const everything = await run('adopt', '--all', '--write', all, '--set', `all-${name}`);
    expect(everything.code, everything.stderr).toBe(0);
    const plan = await run('plan', all, '--set', `all-${name}`, '--detailed-exitcode');
    expect(plan.code, plan.stdout).toBe(0);
    await bench.expectSettled();
    const nothing = join(bench.dir, 'nothing.yaml');
    expect((await run('adopt', 'profile/nowhere', '--write', nothing)).code).toBe(1);
    expect(existsSync(nothing)).toBe(false);
    expect((await run('release', '--all', '--set', `all-${name}`)).code).toBe(0);
  });

  test('release removes the record and keeps the object, and prune then finds nothing', async () => {
    const name = await byHand({ 'limits.cpu': '3' });
    const file = join(bench.dir, `${name}-release.yaml`);
    expect((await run('adopt', `profile/${name}`, 'image_alias/base', '--write', file, '--set', name)).code).toBe(0);
    const before = await configOf(`/1.0/profiles/${name}`);
    expect(before).toHaveProperty([`user.gantry.own.${name}`]);
    const wrong = await run('release', 'profile/nowhere', '--set', name);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining(`the set ${name} owns no such object`)]);
    const released = await run('release', `profile/${name}`, 'image_alias/base', '--set', name);
    expect(released.code, released.stderr).toBe(0);
    delete before[`user.gantry.own.${name}`];
    expect(await configOf(`/1.0/profiles/${name}`)).toEqual(before);
    expect((await run('release', '--all', '--set', name)).stderr).toContain('owns nothing here');
    const drift = await run('drift', manifest(name, ''), '--set', name, '-o', 'json');
    expect(JSON.parse(drift.stdout)).toMatchObject({ undeclared: [], drifted: false });
  });
});
