// A host, exported and planned: the plan is empty, on the simulation and on a stock LXD; and the command line of export.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { containerWith, network, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';
import { makeClient } from '../../support/daemons/tls.ts';

describe.each(await benchHosts('export', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  const run = (...argv: readonly string[]): Promise<CliRun> =>
    cli([...argv, '--host', `unix://${bench.daemon.socketPath}`]);
  beforeAll(async () => {
    bench = await openBench(host);
    // Undeclared objects.
    const call = async (method: string, path: string, body: object): Promise<void> => {
      const answer = await bench.daemon.call(method, path, body);
      expect(answer.status, answer.bytes.toString()).toBeLessThan(300);
      if (answer.status === 202) await bench.get(`${String(answer.body.operation)}/wait`);
    };
    await call('POST', '/1.0/storage-pools/p1/volumes/custom', { name: 'data', type: 'custom', config: {} });
    await call('PATCH', '/1.0', {
      config: { 'core.trust_password': 'hunter3', 'core.https_allowed_origin': 'https://a' },
    });
    await call('POST', '/1.0/profiles', {
      name: 'by-hand',
      description: 'for "people": yes, $HOME',
      config: { 'environment.DB_PASSWORD': 'hunter2', 'user.note': 'one\ntwo: [x]\n', 'limits.cpu': '2' },
      devices: { nothing: { type: 'none' } },
    });
    await call('POST', '/1.0/certificates', {
      name: 'laptop',
      type: 'client',
      certificate: (await makeClient('laptop')).certPem.replaceAll(/-----[^-]+-----|\s/g, ''),
    });
    await call('POST', '/1.0/containers', {
      name: 'bare',
      profiles: ['small', 'by-hand'],
      config: { 'limits.memory': '128MiB', 'boot.autostart': 'false' },
      source: { type: 'none' },
    });
  });
  afterAll(() => bench.close());

  test('everything plans to nothing, under the set that made it and under another', async () => {
    const out = mkdtempSync(join(bench.dir, 'everything-'));
    const exported = await run('export', '-o', out);
    expect(exported.code, exported.stderr).toBe(0);
    expect(exported.stderr).toContain('secrets are written in plain text');
    expect(exported.stderr).not.toContain('left out');
    const containers = readFileSync(join(out, 'container.yaml'), 'utf8');
    expect(containers).toContain('name: bare');
    expect(readFileSync(join(out, 'certificate.yaml'), 'utf8')).toContain('name: laptop\ncertificate: |\n  -----BEGIN');
    const server = readFileSync(join(out, 'server_config.yaml'), 'utf8');
    expect(server).toContain('core.https_allowed_origin: https://a');
    expect(server).not.toContain('trust_password');
    expect(containers).not.toMatch(/^\s*"?(volatile|image)\.|user\.gantry/m);
    for (const set of ['default', 'other']) {
      const plan = await run('plan', out, '--set', set, '--json', '--detailed-exitcode');
      expect(plan.code, plan.stdout).toBe(0);
      const text = (await run('plan', out, '--set', set)).stdout;
      expect(text).toContain(`Apply only records on the server that it belongs to the set ${set}.`);
      const lines = plan.stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { changes?: object });
      expect(lines.find(({ changes }) => changes !== undefined)?.changes, plan.stdout).toMatchObject({
        add: 0,
        change: 0,
        remove: 0,
      });
    }
    const applied = await run('apply', out, '-y', '--set', 'other');
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    expect((await run('plan', out, '--set', 'other', '--detailed-exitcode')).code).toBe(0);
    await bench.expectSettled();
  });

  test('a nic may refer to its network by name, as on fresh LXD hosts', async () => {
    bench.parts['named'] = `kind: profile
name: named
devices:
  root: { type: disk, path: /, pool: p1 }
  eth0: { type: nic, network: ${network}, name: eth0 }
`;
    bench.parts['c2'] = `${containerWith('').replace('c1', 'c2').replace('small', 'named')}manage:
  wait: [{ ipv4: eth0, timeout: 60s }]
`;
    await bench.settle();
    const { used_by: users } = (await bench.get(`/1.0/networks/${network}`)) as { used_by: readonly string[] };
    expect(users.map((url) => url.replace('/1.0/instances/', '/1.0/containers/'))).toEqual(
      expect.arrayContaining(['/1.0/profiles/named', '/1.0/containers/c2']),
    );
    const file = join(bench.dir, 'named.yaml');
    const exported = await run('export', 'profile/named', '-o', file);
    expect(exported.stderr).not.toContain('left out');
    expect(readFileSync(file, 'utf8')).toContain(`network: ${network}`);
    expect((await run('plan', file, '--detailed-exitcode')).code).toBe(0);
    bench.parts['named'] = bench.parts['named'].replace(`network: ${network}`, 'network: nothere0');
    const wrong = await bench.gantry('plan');
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('nothere0');
    delete bench.parts['named'];
    delete bench.parts['c2'];
  });

  test('an export of one object with a variable for its secret has an empty plan', async () => {
    const file = join(bench.dir, 'one.yaml');
    const exported = await run('export', 'profile/by-hand', '--redact', '-o', file);
    expect(exported.code, exported.stderr).toBe(0);
    expect(readFileSync(file, 'utf8')).not.toContain('hunter2');
    const name = /\$\{(\w+)\}/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
    const plan = await run('plan', file, '--var', `${name}=hunter2`, '--set', 'third', '--json');
    expect(plan.code, plan.stdout).toBe(0);
    expect(plan.stdout).toMatch(/"add":0,"change":0/);
    expect((await run('plan', file)).stderr).toContain(`the variable ${name} has no value`);
    expect((await run('export', 'profile/by-hand', '-o', file)).stderr).toContain('--force overwrites it');
  });
});

describe('at the command line', () => {
  test('wrong arguments are reported, and patterns select objects', async () => {
    const bench = await openBench('sim');
    onTestFinished(() => bench.close());
    const run = (...argv: readonly string[]): Promise<CliRun> =>
      cli(['export', ...argv, '--host', `unix://${bench.daemon.socketPath}`]);
    const unknown = await run('container/c2');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('container/c2: the server has no such object (did you mean container/c1?)'),
    ]);
    expect((await run('boat/x')).code).toBe(64);
    const some = await run('container/c*', 'pool');
    expect(some.stdout.match(/^kind: .*/gm)).toEqual(['kind: storage_pool', 'kind: container']);
    const json = await run('container', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'container', name: 'c1', profiles: ['small'] });
    // Objects that the manifest rules refuse are reported and left out; the rest still has an empty plan.
    bench.parts = { ...bench.parts, container: containerWith('manage: { protect: true }\n') };
    await bench.apply();
    const text = (await run('container/c1')).stdout;
    expect(text).toContain('manage: { protect: true }');
    expect(text).not.toContain('security.protection.delete');
    const dir = join(bench.dir, 'nowhere');
    mkdirSync(dir);
    writeFileSync(join(dir, 'file'), '');
    expect((await run('-o', join(dir, 'file'))).code).toBe(1);
    expect(existsSync(join(dir, 'file', 'container.yaml'))).toBe(false);
  });
});
