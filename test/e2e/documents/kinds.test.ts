// Volumes and certificates as documents: created, attached, changed, kept while they are in use, adopted when they exist already, and
// deleted in order. On the simulation and on a stock LXD.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { containerWith, openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { benchHosts } from '../../support/cli/bench-hosts.ts';

const volume = (more: string): string => `kind: storage_volume\nname: data\npool: p1\n${more}`;
const withVolume = containerWith('devices: { data: { type: disk, pool: p1, source: data, path: /data } }\n');

function makeCertificate(bench: Bench, name: string): string {
  const [key, file] = [join(bench.dir, `${name}.key`), join(bench.dir, `${name}.crt`)];
  const subject = ['-subj', `/CN=${name}`, '-days', '30'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', file], { stdio: 'ignore' });
  return readFileSync(file, 'utf8');
}
const certificate = (name: string, pem: string): string =>
  `kind: certificate\nname: ${name}\ncertificate: |\n${pem.trimEnd().replaceAll(/^/gm, '  ')}\n`;

describe.each(await benchHosts('kinds', 'sim', 'lxd'))('on %s', (host) => {
  let bench: Bench;
  let original: Bench['parts'];
  beforeAll(async () => {
    bench = await openBench(host);
    original = bench.parts;
  });
  afterAll(() => bench.close());

  test('a volume is created, attached live, changed live, and deleted before its pool', async () => {
    bench.parts = { ...original, volume: volume('description: first\n'), container: withVolume };
    expect(await bench.planned()).toEqual(['storage_volume/p1/data: create live', 'container/c1: update live']);
    const before = await bench.life();
    await bench.settle();
    expect((await bench.life()).pid).toBe(before.pid);
    const path = '/1.0/storage-pools/p1/volumes/custom/data';
    expect(await bench.get(path)).toMatchObject({ name: 'data', description: 'first' });

    bench.parts = { ...bench.parts, volume: volume('description: second\nconfig: { user.owner: me }\n') };
    expect(await bench.planned()).toEqual(['storage_volume/p1/data: update live']);
    await bench.settle();
    expect(await bench.get(path)).toMatchObject({ description: 'second', config: { 'user.owner': 'me' } });
    // A key that the set wrote and no longer declares is removed.
    bench.parts = { ...bench.parts, volume: volume('description: second\n') };
    await bench.apply();
    expect((await bench.get(path)).config).not.toHaveProperty('user.owner');

    // No longer declared, it stays with its data until a prune; the container detaches it before it is deleted.
    bench.parts = original;
    const kept = await bench.gantry('apply', '--auto-approve', '--set', 'default', '--prune');
    expect(kept.code, kept.stderr).toBe(4);
    expect(kept.stdout + kept.stderr).toContain('storage_volume/p1/data');
    await bench.apply('--set', 'default', '--prune', '--allow-destroy');
    await bench.expectSettled();
    expect(await bench.get('/1.0/storage-pools/p1/volumes/custom')).toEqual([]);
    expect((await bench.life()).pid).toBe(before.pid);
  });

  test('an existing volume is adopted unchanged', async () => {
    const created = await bench.daemon.call('POST', '/1.0/storage-pools/p1/volumes/custom', {
      name: 'data',
      type: 'custom',
      config: { 'user.by': 'hand' },
    });
    expect(created.status).toBeLessThan(300);
    bench.parts = { ...original, volume: volume('') };
    await bench.settle();
    expect((await bench.get('/1.0/storage-pools/p1/volumes/custom/data')).config).toMatchObject({ 'user.by': 'hand' });
    await bench.daemon.call('DELETE', '/1.0/storage-pools/p1/volumes/custom/data');
    bench.parts = original;
    await bench.apply();
  });

  test('server settings are set, have an empty plan although defaults are not returned, and are unset again', async () => {
    const config = async (): Promise<Record<string, string>> =>
      ((await bench.get('/1.0')) as { config: Record<string, string> }).config;
    const settings = (text: string): Bench['parts'] => ({
      ...original,
      server: `kind: server_config\nconfig: { images.remote_cache_expiry: 5, images.auto_update_interval: 6${text} }\n`,
    });
    bench.parts = settings(', user.owner: me');
    expect(await bench.planned()).toEqual(['server_config/server: update live']);
    await bench.settle();
    expect(await config()).toMatchObject({ 'images.remote_cache_expiry': '5', 'user.owner': 'me' });
    bench.parts = settings('');
    await bench.settle();
    expect(await config()).not.toHaveProperty('user.owner');
    bench.parts = original;
    await bench.apply('--set', 'default', '--prune');
    await bench.expectSettled();
    expect(await config()).not.toHaveProperty('images.remote_cache_expiry');
  });

  test('a certificate is trusted, renamed and removed', async () => {
    const pem = makeCertificate(bench, 'laptop');
    bench.parts = { ...original, trust: certificate('laptop', pem) };
    expect(await bench.planned()).toEqual(['certificate/laptop: create live']);
    await bench.settle();
    const names = async (): Promise<string[]> =>
      ((await bench.get('/1.0/certificates?recursion=1')) as { name: string }[]).map(({ name }) => name);
    expect(await names()).toEqual(['laptop']);
    bench.parts = { ...original, trust: certificate('desk', pem) };
    expect(await bench.planned()).toEqual(['certificate/desk: update live']);
    await bench.settle();
    expect(await names()).toEqual(['desk']);
    bench.parts = original;
    await bench.apply('--set', 'default', '--prune');
    await bench.expectSettled();
    expect(await names()).toEqual([]);
  });
});

describe('invalid volumes and certificates', () => {
  test('are reported before any change', async () => {
    const bench = await openBench('sim');
    onTestFinished(() => bench.close());
    const original = bench.parts;
    const problems = async (part: string): Promise<string> => {
      bench.parts = { ...original, part };
      return (await bench.gantry('plan')).stderr;
    };
    expect(await problems('kind: storage_volume\nname: data\n')).toContain('pool');
    expect(await problems('kind: storage_volume\nname: a/b\npool: p1\n')).toContain('must be POOL/VOLUME');
    expect(await problems(volume('config: { sise: 1GB }\n'))).toContain('is not a config key of a storage volume');
    expect(await problems('kind: server_config\nconfig: { core.trust_password: x }\n')).toContain(
      'declare the certificates',
    );
    expect(await problems('kind: server_config\nname: other\nconfig: {}\n')).toContain('must be server');
    expect(await problems('kind: server_config\nconfig: { core.htps_address: x }\n')).toContain('core.https_address');
    expect(await problems('kind: certificate\nname: x\ncertificate: nonsense\n')).toContain(
      'must be an X.509 certificate',
    );
  });
});
