// The command line with several simulated daemons: selection of hosts, documents for each, their order, and the effect of a failed host.
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { sharedDaemons } from '../../support/daemons/emptied.ts';
import { makeClient } from '../../support/daemons/tls.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let dir = '';
beforeEach(() => void (dir = tempFolder('gtfl-')));

type Daemons = readonly [TestDaemon, TestDaemon, TestDaemon];
/** As many daemons as hosts; the types promise three. */
const start = sharedDaemons() as (count: number) => Promise<unknown> as (count: number) => Promise<Daemons>;

/** The same, in the hosts file, with manifests for them. */
async function startFleet(count: number, manifests = stack): Promise<Daemons> {
  const fleet = await start(count);
  writeHosts(fleet.map(addressOf));
  write('stack.yaml', manifests);
  return fleet;
}

const write = (file: string, text: string): void => writeFileSync(join(dir, file), text);

/** `web1`, `web2`, ... in this order; the last is a database. */
function writeHosts(addresses: readonly string[], more = ''): void {
  const hosts = addresses.map((address, index) => {
    const isDb = index === addresses.length - 1;
    return `  - name: ${isDb ? 'db1' : `web${index + 1}`}
    address: ${address}
    groups: [${isDb ? 'dbs' : 'webs'}]
    labels: { env: ${index === 0 ? 'staging' : 'prod'} }
    vars: { RANK: ${index + 1} }
`;
  });
  write(
    'hosts.yaml',
    `kind: hosts
vars: { MEM: 64MiB }
groups:
  webs: { labels: { role: web } }
  dbs: { labels: { role: db }, vars: { MEM: 128MiB } }
hosts:
${hosts.join('')}${more}`,
  );
}

const addressOf = (daemon: TestDaemon): string => `unix://${daemon.socketPath}`;

const stack = `kind: profile
name: common
description: rank $RANK of $GANTRY_HOST_NAME
labels: { layer: base }
config: { limits.memory: $MEM }
---
kind: profile
name: front
labels: { layer: top }
manage: { hosts: "@webs" }
---
kind: profile
name: store
manage: { hosts: [role=db] }
`;

const gantry = (verb: string, argv: readonly string[] = [], setting: CliSetting = {}): Promise<CliRun> =>
  cli([verb, '-f', join(dir, 'stack.yaml'), '--hosts', join(dir, 'hosts.yaml'), ...argv], setting);

const profiles = async (daemon: TestDaemon): Promise<readonly string[]> =>
  ((await daemon.get('/1.0/profiles?recursion=1')) as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== 'default')
    .sort();

describe('a fleet', () => {
  test('Each host gets its documents and variables, and a second plan is empty', async () => {
    const fleet = await startFleet(3);
    const [, web2, db1] = fleet;
    expect((await cli(['validate', '-f', join(dir, 'stack.yaml'), '--hosts', join(dir, 'hosts.yaml')])).stdout).toBe(
      'Valid: 2 documents for web1\nValid: 2 documents for web2\nValid: 2 documents for db1\n',
    );
    const plan = await gantry('plan', ['--detailed-exitcode']);
    expect(plan.code, plan.stderr).toBe(2);
    expect(plan.stdout).toContain('Host web1 (unix://');
    expect(plan.stdout).toContain('"rank 3 of db1"');
    expect(plan.stdout).toMatch(/^db1 +2 +0 +0 +0$/m);
    expect(plan.stdout).toContain('Plan for 3 hosts: 6 to add, 0 to change, 0 to destroy');
    const json = JSON.parse((await gantry('plan', ['-o', 'json'])).stdout) as {
      hosts: { host: string; plan: { resource_changes: { address: string }[] } }[];
    };
    expect(
      json.hosts.map(({ host, plan: { resource_changes: changes } }) => [host, changes.map((one) => one.address)]),
    ).toEqual([
      ['web1', ['profile/common', 'profile/front']],
      ['web2', ['profile/common', 'profile/front']],
      ['db1', ['profile/common', 'profile/store']],
    ]);
    const markdown = await gantry('plan', ['-o', 'markdown']);
    expect(markdown.stdout).toContain('| db1 | 2 | 0 | 0 | 0 |  |');
    expect(markdown.stdout).toContain('<details><summary>web2</summary>');

    const applied = await gantry('apply', ['-y', '--canary', 'web2', '--batch', '50%']);
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stderr.match(/^(Canary|Batch).*/gm)).toEqual(['Canary (1 of 2): web2', 'Batch (2 of 2): web1, db1']);
    expect(applied.stderr).toContain('db1  | profile/store: Created after');
    expect(applied.stdout).toContain('Apply complete! 3 of 3 hosts done.');
    expect(await profiles(db1)).toEqual(['common', 'store']);
    expect((await db1.get('/1.0/profiles/common')).config['limits.memory']).toBe('128MiB');
    const second = await gantry('plan', ['--detailed-exitcode']);
    expect(second.code, second.stdout).toBe(0);
    expect(second.stdout).toContain('Hosts web1, web2, db1: the same plan');
    expect((await gantry('apply', ['-y', '--detailed-exitcode'])).code).toBe(0);

    const get = (...more: readonly string[]): Promise<CliRun> =>
      cli(['get', 'profiles', '--hosts', join(dir, 'hosts.yaml'), ...more]);
    expect((await get('-o', 'name', '--host', '@webs', '--object-selector', 'layer')).stdout).toBe(
      'web1/common\nweb1/front\nweb2/common\nweb2/front\n',
    );
    expect((await get('-l', 'role=db')).stdout).toMatch(/^HOST +NAME.*\ndb1 +common.*\ndb1 +default.*\ndb1 +store/);
    expect((JSON.parse((await get('-l', 'env!=prod', '-o', 'json')).stdout) as { host: string }[])[0]?.host).toBe(
      'web1',
    );
    expect((await get('-o', 'yaml', '--host', 'db1')).stdout).toContain('---\nhost: db1\nkind: profile\nname: common');
    expect((await gantry('status', ['--host', 'db*'])).stdout).toMatch(/^db1 +profile\/store +present +in sync$/m);
    expect((await gantry('drift')).stdout).toContain('No host drifted.');
    await web2.call('PATCH', '/1.0/profiles/common', { config: { 'limits.memory': '1GiB' } });
    const drift = await gantry('drift');
    expect([drift.code, drift.stdout]).toEqual([2, expect.stringContaining('Drifted: web2.')]);
    const drifted = JSON.parse((await gantry('drift', ['-o', 'json', '-l', 'role=web'])).stdout) as {
      hosts: { host: string; objects: unknown[] }[];
    };
    expect(drifted.hosts.map(({ host, objects }) => [host, objects.length])).toEqual([
      ['web1', 0],
      ['web2', 1],
    ]);
    const events = (await gantry('destroy', ['-y', '--json', '--batch', '3'])).stdout.trimEnd().split('\n');
    const lines = events.map((line) => JSON.parse(line) as { type: string; host?: string });
    expect(lines.filter(({ type }) => type === 'apply_complete').every(({ host }) => host !== undefined)).toBe(true);
    expect(lines.filter(({ type }) => type === 'version')).toHaveLength(1);
    expect(lines.at(-1)).toMatchObject({
      type: 'fleet_summary',
      operation: 'destroy',
      hosts: [{ host: 'web1', state: 'done', exit_code: 0 }, {}, {}],
    });
    for (const daemon of fleet) expect(await profiles(daemon)).toEqual([]);
  });

  test('A plan keeps the order of the hosts file when the first host answers last', async () => {
    const [web1, db1] = await start(2);
    const slow = await slowly(web1.socketPath, join(dir, 'slow.socket'), 50);
    onTestFinished(() => slow());
    writeHosts([`unix://${join(dir, 'slow.socket')}`, addressOf(db1)]);
    write('stack.yaml', stack);
    const file = join(dir, 'fleet.plan');
    expect((await gantry('plan', ['--out', file])).code).toBe(0);
    expect((await cli(['show', file])).stdout).toMatch(/^Host web1\n[^]*^Host db1\n/m);
  });

  test('A fleet plan is saved, reviewed, and applied exactly as it is, or refused', async () => {
    const [web1, db1] = await startFleet(2);
    const file = join(dir, 'fleet.plan');
    const kept = await gantry('plan', ['--out', file]);
    expect(kept.code, kept.stderr).toBe(0);
    expect((await cli(['apply', file])).stderr).toContain('the plan of several hosts: apply it with --hosts');
    const shown = await cli(['show', file]);
    expect([shown.code, shown.stdout]).toEqual([
      0,
      expect.stringMatching(/^Host web1\n.*profile\/common[^]*^Host db1\n/m),
    ]);
    expect((await cli(['show', file, '--json'])).stdout.match(/^\{"host":"(web1|db1)","plan":/gm)).toHaveLength(2);
    const apply = (...more: readonly string[]): Promise<CliRun> =>
      cli(['apply', file, '--hosts', join(dir, 'hosts.yaml'), ...more]);
    await db1.call('POST', '/1.0/profiles', { name: 'store', config: { 'user.x': '1' } });
    write('stack.yaml', stack.replace('of $GANTRY_HOST_NAME', 'late'));
    const one = await apply('--host', 'web1');
    expect(one.code, one.stderr).toBe(0);
    expect((await web1.get('/1.0/profiles/common')).description).toBe('rank 1 of web1');
    const stale = await apply();
    expect([stale.code, stale.stdout]).toEqual([3, expect.stringMatching(/^db1 +stale/m)]);
    expect(await profiles(db1)).toEqual(['store']);
    await db1.call('DELETE', '/1.0/profiles/store');
    const done = await apply();
    expect(done.code, done.stderr + done.stdout).toBe(0);
    expect(await profiles(db1)).toEqual(['common', 'store']);
    writeHosts([addressOf(web1)]);
    expect((await apply()).stderr).toContain('the hosts file no longer has web1: make the plan again');
  });
});

describe('one host of several', () => {
  test('Verbs for one host use its variables, and its lock, guards and left-overs are separate', async () => {
    const [web1, db1] = await startFleet(2);
    const set = ['--set', 'shop'];
    const diff = await gantry('diff', ['--host', 'db1']);
    expect([diff.code, diff.stdout]).toEqual([1, expect.stringContaining('rank 2 of db1')]);
    await web1.call('POST', '/1.0/profiles', { name: 'front', config: { 'user.gantry.label.layer': 'top' } });
    const adopted = await gantry('adopt', ['profile/front', '--host', 'web1', ...set]);
    expect(adopted.code, adopted.stderr).toBe(0);

    expect((await cli(['lock', '--host', addressOf(db1), ...set])).code).toBe(0);
    const locked = await gantry('apply', ['-y', '--canary', '1', ...set]);
    expect([locked.code, locked.stdout]).toEqual([5, expect.stringMatching(/^web1 +done[^]*^db1 +locked/m)]);
    expect((await cli(['force-unlock', '-y', '--host', addressOf(db1), ...set])).code).toBe(0);
    expect((await gantry('apply', ['-y', ...set])).code).toBe(0);

    write('stack.yaml', stack.replace('"@webs"', '"@dbs"').replace('[role=db]', '[role=db], protect: true'));
    const moved = await gantry('apply', ['-y', '--prune', ...set]);
    expect(moved.code, moved.stderr).toBe(0);
    expect([await profiles(web1), await profiles(db1)]).toEqual([['common'], ['common', 'front', 'store']]);
    expect((await gantry('plan', ['--detailed-exitcode', '--prune', ...set])).code).toBe(0);

    const refused = await gantry('destroy', ['-y', ...set]);
    expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining('failed: db1; not started: web1')]);
    expect(await profiles(web1)).toEqual(['common']);
  });
});

describe('a failed host', () => {
  test('An unreachable host stops the run before it begins, or only itself with --keep-going', async () => {
    const [web1, db1] = await start(2);
    writeHosts([addressOf(web1), `unix://${dir}/nobody.socket`, addressOf(db1)]);
    write('stack.yaml', stack);
    const plan = await gantry('plan');
    expect([plan.code, plan.stdout]).toEqual([7, expect.stringMatching(/^web2 +unreachable: [^]*1 unreachable/m)]);
    const stopped = await gantry('apply', ['-y']);
    expect(stopped.code).toBe(7);
    expect(stopped.stdout).toContain('Apply incomplete: 0 of 3 hosts done; failed: web2; not started: web1, db1.');
    expect(await profiles(web1)).toEqual([]);
    const onward = await gantry('apply', ['-y', '--keep-going', '--batch', '100%']);
    const done = expect.stringContaining('2 of 3 hosts done; failed: web2.');
    expect([onward.code, onward.stdout]).toEqual([7, done]);
    expect(await profiles(db1)).toEqual(['common', 'store']);
    for (const verb of ['status', 'drift']) {
      const run = await gantry(verb);
      expect([run.code, run.stderr]).toEqual([7, expect.stringContaining('web2: unreachable: ')]);
    }
  });

  const failing = `${stack}---
kind: storage_pool
name: failing
driver: dir
config: { source: /nowhere/at/all }
manage: { hosts: web2 }
`;

  test('A failed host stops the batches after its own, and the other hosts of its batch finish', async () => {
    const [web1, web2, db1] = await startFleet(3, failing);
    const run = await gantry('apply', ['-y', '--batch', '2']);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('web2 | storage_pool/failing: Creation failed');
    expect(run.stdout).toContain('Apply incomplete: 1 of 3 hosts done; failed: web2; not started: db1.');
    expect(run.stdout).toMatch(/^web2 +failed +2 /m);
    for (const web of [web1, web2]) expect(await profiles(web)).toEqual(['common', 'front']);
    expect(await profiles(db1)).toEqual([]);
    const canary = await gantry('apply', ['-y', '--canary', 'web2', '--json']);
    expect(canary.code).toBe(1);
    expect(JSON.parse(canary.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'fleet_summary',
      hosts: [
        { host: 'web1', state: 'unchanged' },
        { host: 'web2', state: 'failed', exit_code: 1 },
        { host: 'db1', state: 'not-begun', exit_code: 0 },
      ],
    });
  });

  const waiting = `kind: storage_pool
name: p1
driver: dir
---
kind: container
name: c1
source: { type: none }
devices: { root: { type: disk, path: /, pool: p1 } }
manage: { wait: [{ tcp: "127.0.0.1:1", timeout: 100s }] }
`;
  const isWaiting = (daemon: TestDaemon) => async (): Promise<boolean> => {
    const answer = await daemon.call('GET', '/1.0/containers/c1');
    return answer.status === 200 && answer.metadata.status === 'Running';
  };

  test('A host that dies during the run is reported as unreachable, and the next hosts stay untouched', async () => {
    const [web1, db1] = await startFleet(2, waiting);
    const running = gantry('apply', ['-y', '--timeout', '90s']);
    await until(isWaiting(web1));
    await web1.stop();
    const run = await running;
    expect([run.code, run.stdout]).toEqual([7, expect.stringMatching(/^web1 +unreachable[^]*not started: db1\./m)]);
    expect((await db1.get('/1.0/containers')) as unknown[]).toEqual([]);
    await web1.restart();
    write('stack.yaml', waiting.replace(/manage.*\n/, ''));
    const again = await gantry('apply', ['-y']);
    expect(again.code, again.stderr).toBe(0);
    expect((await gantry('plan', ['--detailed-exitcode'])).code).toBe(0);
  });

  test('Running hosts finish after Ctrl-C, and no other host begins', async () => {
    const [web1, db1] = await startFleet(2, waiting);
    let interrupt = (): void => {};
    const running = gantry('apply', ['-y'], { interrupts: (now) => (interrupt = now) });
    await until(isWaiting(web1));
    interrupt();
    interrupt();
    const run = await running;
    expect(run.code).toBe(130);
    expect(run.stderr.match(/Interrupted: finishing/g)).toHaveLength(1);
    expect(run.stdout).toMatch(/^web1 +interrupted[^]*not started: db1\./m);
    expect((await db1.get('/1.0/containers')) as unknown[]).toEqual([]);
  });

  test('A host that never answers is named when the time is over', async () => {
    const [web1] = await start(1);
    const mute = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => mute.listen(join(dir, 'mute.socket'), resolve));
    onTestFinished(() => new Promise<void>((resolve) => mute.close(() => resolve())));
    writeHosts([addressOf(web1), `unix://${dir}/mute.socket`]);
    write('stack.yaml', stack);
    const run = await gantry('apply', ['-y', '--timeout', '1s']);
    const late = /longer than --timeout 1s; no answer from: .*db1/;
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(late)]);
    expect(await profiles(web1)).toEqual([]);
  });

  test('A slow host does not delay the others of its batch', async () => {
    const [web1, db1] = await start(2);
    const slow = await slowly(web1.socketPath, join(dir, 'slow.socket'), 50);
    onTestFinished(() => slow());
    writeHosts([`unix://${dir}/slow.socket`, addressOf(db1)]);
    write('stack.yaml', stack);
    const run = await gantry('apply', ['-y', '--batch', '100%']);
    expect(run.code, run.stderr).toBe(0);
    const ends = run.stderr.match(/^\w+ *\| Apply complete!/gm)?.map((line) => line.split(' ')[0]);
    expect(ends).toEqual(['db1', 'web1']);
  });
});

/** A slow proxy to a socket. */
async function slowly(from: string, to: string, delayMs: number): Promise<() => Promise<void>> {
  const open = new Set<Socket>();
  const late = (source: Socket, target: Socket): void => {
    source.on('data', (chunk) => setTimeout(() => target.destroyed || target.write(chunk), delayMs));
    source.on('error', () => target.destroy());
    source.on('close', () => setTimeout(() => target.destroy(), delayMs));
  };
  const server = createServer((inside) => {
    const outside = connect(from);
    for (const socket of [inside, outside]) open.add(socket);
    late(inside, outside);
    late(outside, inside);
  });
  await new Promise<void>((resolve) => server.listen(to, resolve));
  return async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
}

describe('hosts over TLS', () => {
  test('Hosts over TLS are known by their certificates; a wrong, expired or missing certificate stops the rollout', async () => {
    const secure = await makeDaemon({ https: '127.0.0.1:0' });
    onTestFinished(() => secure.cleanUp());
    const hour = 3_600_000;
    const good = await makeClient('good');
    const old = await makeClient('old', [-2 * hour, -hour]);
    const strange = await makeClient('strange');
    for (const [name, pair] of Object.entries({ good, old, strange })) {
      write(`${name}.crt`, pair.certPem);
      write(`${name}.key`, pair.keyPem);
    }
    for (const { certPem } of [good, old]) {
      const certificate = certPem.replaceAll(/-----[^-]+-----|\s/g, '');
      await secure.call('POST', '/1.0/certificates', { type: 'client', certificate });
    }
    const { certificate, certificate_fingerprint: pin } = (await secure.get('/1.0')).environment as Record<
      string,
      string
    >;
    write('server.crt', certificate ?? '');
    write('stack.yaml', 'kind: profile\nname: p\n');
    const hosts = (client: string, server: string): void =>
      write(
        'hosts.yaml',
        `kind: hosts\nclient_cert: ${client}.crt\nclient_key: ${client}.key\nhosts:\n  - { name: far, address: "https://${secure.daemon.httpsAddress() ?? ''}", server_cert: ${server} }\n`,
      );
    hosts('old', 'server.crt');
    const expired = await gantry('apply', ['-y']);
    expect([expired.code, expired.stdout]).toEqual([7, expect.stringMatching(/^far +unreachable: /m)]);
    hosts('strange', 'server.crt');
    expect((await gantry('apply', ['-y'])).code).toBe(7);
    hosts('good', 'f'.repeat(64));
    const wrong = await gantry('plan');
    expect([wrong.code, wrong.stdout]).toEqual([7, expect.stringContaining('--server-cert')]);
    expect(await profiles(secure)).toEqual([]);
    hosts('good', pin ?? '');
    expect((await gantry('apply', ['-y'])).code).toBe(0);
    hosts('good', 'server.crt');
    expect((await gantry('plan', ['--detailed-exitcode'])).code).toBe(0);
  });
});

describe('a hosts file', () => {
  test('A wrong hosts file is refused with every wrong place', async () => {
    write('stack.yaml', stack);
    write(
      'hosts.yaml',
      `kind: hosts
vars: { 1ST: x }
groups: { webs: { labels: { role: web } } }
hosts:
  - { name: web1, address: unix:///a, groups: [web], labels: { role: "a b" } }
  - { name: web1, address: http://b }
  - { name: "w x", address: unix:///a, client_cert: nowhere.crt }
`,
    );
    const run = await gantry('plan');
    expect(run.code).toBe(1);
    for (const [text, line] of [
      ['1ST is no name of a variable', 2],
      ['there is no group web (did you mean webs?)', 5],
      ['the value of the label role must be', 5],
      ['the name web1 is that of host number 1 already', 6],
      ['the address "http://b" is not understood', 6],
      ['the name "w x" must be', 7],
      ['w x and web1 are the same server', 7],
      ['nowhere.crt is no file', 7],
      ['client_cert and client_key belong together', 7],
    ] as const) {
      expect(run.stderr).toContain(text);
      expect(run.stderr).toContain(`hosts.yaml:${line}:`);
    }
    write('hosts.yaml', 'kind: hosts\nhosts:\n  - { name: a, adress: unix:///a }\n');
    expect((await gantry('plan')).stderr).toMatch(/adress is not a key of hosts files \(did you mean .*address\?\)/);
    write('hosts.yaml', 'hosts: []\n');
    expect((await gantry('plan')).stderr).toContain('this is no hosts file');
    write('hosts.yaml', '');
    expect((await gantry('plan')).stderr).toContain('holds no hosts');
  });

  test('explain and fmt support hosts files, and manifests skip them', async () => {
    expect((await cli(['explain', 'hosts.hosts.server_cert'])).stdout).toContain(
      'The only server certificate to accept',
    );
    expect((await cli(['explain', 'hosts.groups'])).code).toBe(0);
    expect((await cli(['explain', 'hosts.host'])).stderr).toContain('did you mean hosts?');
    writeHosts(['unix:///a', 'unix:///b']);
    write('stack.yaml', 'kind: profile\nname: a\n');
    const before = readFileSync(join(dir, 'hosts.yaml'), 'utf8');
    expect((await cli(['fmt', dir])).code).toBe(0);
    expect(readFileSync(join(dir, 'hosts.yaml'), 'utf8')).toBe(before);
    expect((await cli(['validate', dir])).stdout).toContain('Valid: 1 document in');
  });

  test('An unknown host or group lists the known ones, and verbs that need hosts say so', async () => {
    writeHosts(['unix:///a', 'unix:///b', 'unix:///c']);
    write('stack.yaml', stack);
    const tell = async (argv: readonly string[]): Promise<readonly [number, string]> => {
      const { code, stderr } = await gantry('plan', argv);
      return [code, stderr];
    };
    for (const [argv, code, text] of [
      [['--host', 'wbe1'], 64, 'there is no host wbe1 (did you mean web1?)'],
      [['--host', '@web'], 64, 'there is no group web (did you mean webs?)'],
      [['--host', 'role=cache'], 1, 'matches no host: the labels are env=prod'],
      [['-l', 'role in web'], 64, 'is not a condition on a label'],
      [['--embedded', dir], 64, 'cannot be used together'],
    ] as const)
      expect(await tell(argv)).toEqual([code, expect.stringContaining(text)]);
    const adopt = await gantry('adopt', ['--all']);
    const alone = 'gantry adopt works on one host: select it with --host';
    expect([adopt.code, adopt.stderr]).toEqual([64, expect.stringContaining(alone)]);
    for (const flag of ['--batch=0', '--batch=150%', '--batch=x', '--canary=0'])
      expect((await gantry('apply', ['-y', flag])).code, flag).toBe(64);
    const batch = await cli(['apply', '-y', '-f', join(dir, 'stack.yaml'), '--host', 'unix:///a', '--batch', '2']);
    expect([batch.code, batch.stderr]).toEqual([64, expect.stringContaining('--batch is for several hosts')]);
    const single = await cli(['validate', '-f', join(dir, 'stack.yaml')]);
    expect([single.code, single.stderr]).toEqual([1, expect.stringContaining('give them with --hosts FILE')]);
    write('stack.yaml', 'kind: profile\nname: a\ndescription: $NOPE\nmanage: { hosts: [web9, "a b"] }\n');
    const [code, text] = await tell([]);
    expect(code).toBe(1);
    expect(text).toContain('manage.hosts: there is no host web9 (did you mean web1?)');
    expect(text).toContain('"a b" must be one NAME, @GROUP, or labels');
    writeHosts(['unix:///a', 'unix:///b'], '  - { name: odd, address: "unix:///c", vars: { ONLY: here } }\n');
    write('stack.yaml', 'kind: profile\nname: a\ndescription: $ONLY\n');
    const [, unset] = await tell([]);
    expect(unset).toContain('on web1, db1: the variable ONLY has no value');
  });
});
