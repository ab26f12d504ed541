// Documents that once planned a change after an apply or hid a difference, on a simulated daemon.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { createContainer, setState, statusOf } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const daemon = await seededDaemon();
/** Next to the state of the daemon, which must not contain a pool. */
const places = tempFolder('gantry-places-');

const gantry = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', `unix://${daemon.socketPath}`]);
function manifest(text: string): string {
  const path = join(daemon.dir, 'stack.yaml');
  writeFileSync(path, text);
  return path;
}
async function settled(text: string): Promise<void> {
  const applied = await gantry('apply', '-y', manifest(text));
  expect([applied.code, applied.stdout + applied.stderr]).toEqual([0, expect.anything()]);
  const again = await gantry('plan', '--detailed-exitcode', manifest(text));
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('No changes')]);
}

test('a pool shows its source in every form of the plan, and a new source is refused as a recreation', async () => {
  const [one, two] = [join(places, 'one'), join(places, 'two')];
  for (const path of [one, two]) mkdirSync(path);
  const pool = (source: string): string => `kind: storage_pool\nname: p1\ndriver: dir\nconfig: { source: ${source} }\n`;
  const first = await gantry('plan', manifest(pool(one)));
  expect(first.stdout).toContain(`+ config.source = "${one}"`);
  expect((await gantry('plan', '--format', 'plan-json', manifest(pool(one)))).stdout).toContain(JSON.stringify(one));
  expect((await gantry('diff', manifest(pool(one)))).stdout).toContain(one);
  await settled(pool(one));
  await settled(pool(`${one}/`));
  const moved = await gantry('plan', manifest(pool(two)));
  expect([moved.code, moved.stdout]).toEqual([
    4,
    expect.stringContaining(`~ config.source = "${one}" -> "${two}"  # needs recreation`),
  ]);
  expect(moved.stdout).toContain('Refused: storage_pool/p1 would be deleted and created again');
  const allowed = await gantry('apply', '-y', '--allow-recreate', manifest(pool(two)));
  expect([allowed.code, (await daemon.get('/1.0/storage-pools/p1')).config.source]).toEqual([0, two]);
  await settled(pool(two));
  const device = await gantry(
    'plan',
    manifest('kind: storage_pool\nname: p2\ndriver: btrfs\nconfig: { source: /dev/nothing }\n'),
  );
  expect(device.stdout).toContain('it takes all of /dev/nothing: a file system on it is lost');
});

test('an empty type, an architecture and a boolean description have an empty plan after the apply', async () => {
  await settled(`kind: profile
name: p1
description: true
config: { security.nesting: TRUE }
---
kind: network
name: n1br
type: ""
config: { ipv4.address: none, ipv6.address: none }
---
kind: container
name: c1
architecture: ""
state: stopped
source: { type: none }
`);
  expect(await daemon.get('/1.0/profiles/p1')).toMatchObject({
    description: 'true',
    config: { 'security.nesting': 'TRUE' },
  });
  expect((await daemon.get('/1.0/networks/n1br')).type).toBe('bridge');
});

test('keys of snapshots have an empty plan after the apply, also those that a volume has from its pool', async () => {
  const text = (expiry: string): string => `kind: storage_pool
name: timed
driver: dir
config: { volume.snapshots.schedule: "@daily", volume.snapshots.expiry: 3d }
---
kind: storage_volume
name: heir
pool: timed
manage: { mode: exact }
---
kind: storage_volume
name: own
pool: timed
config: { snapshots.expiry: ${expiry}, snapshots.pattern: "auto-%d" }
`;
  await settled(text('1w 2d'));
  const configOf = async (name: string): Promise<object> =>
    (await daemon.get(`/1.0/storage-pools/timed/volumes/custom/${name}`)).config as object;
  expect(await configOf('heir')).toMatchObject({ 'snapshots.schedule': '@daily', 'snapshots.expiry': '3d' });
  await settled(text('2w'));
  expect(await configOf('own')).toMatchObject({ 'snapshots.expiry': '2w', 'snapshots.pattern': 'auto-%d' });
  const bad = await gantry('plan', manifest(text('soon')));
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('snapshots.expiry')]);
});

test('a frozen container that is declared as running is drift, and an apply thaws it', async () => {
  const text = 'kind: container\nname: frozen\nsource: { type: none }\n';
  await settled(text);
  await setState(daemon, 'frozen', 'freeze');
  const plan = await gantry('plan', '--detailed-exitcode', manifest(text));
  expect([plan.code, plan.stdout]).toEqual([2, expect.stringContaining('it is frozen and should run: it is thawed')]);
  expect((await gantry('drift', manifest(text))).stdout).toMatch(/state.*frozen/);
  await settled(text);
  expect(await statusOf(daemon, 'frozen')).toBe('Running');
});

test('an address that cannot be bound stays a difference until it is free', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const address = `127.0.0.1:${(taken.address() as { port: number }).port}`;
  const text = `kind: server_config\nconfig: { core.https_address: "${address}" }\n`;
  const failed = await gantry('apply', '-y', manifest(text));
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('listening on')]);
  const plan = await gantry('plan', '--detailed-exitcode', manifest(text));
  expect([plan.code, plan.stdout]).toEqual([2, expect.stringContaining(`+ config.core.https_address = "${address}"`)]);
  expect((await gantry('export', 'server_config')).stdout).toContain(address);
  await new Promise((resolve) => taken.close(resolve));
  await settled(text);
  expect((await daemon.get('/1.0')).environment.addresses).toEqual([address]);
});

test('a copy is unowned, keeps its labels, and its export has no record', async () => {
  await settled('kind: container\nname: origin\nlabels: { app: web }\nstate: stopped\nsource: { type: none }\n');
  await createContainer(daemon, 'copied', { source: { type: 'copy', source: 'origin' } });
  const keys = Object.keys((await daemon.get('/1.0/containers/copied')).config).filter((key) =>
    key.startsWith('user.'),
  );
  expect(keys).toEqual(['user.gantry.label.app']);
  const { stdout } = await gantry('export', 'container/origin', 'container/copied');
  expect(stdout).not.toContain('user.gantry');
  expect(stdout).toContain('app: web');
});
