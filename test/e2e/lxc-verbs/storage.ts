// Proofs of verbs on storage pools, volumes, images and their aliases.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { until } from '../../support/until.ts';
import type { Json } from '../../support/daemons/daemon.ts';
import { metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';
import { described, objectProofs, pool, volume } from './objects.ts';
import { edited, file, isGone, listed, made, name, textOf, type Proof, type World } from './world.ts';

const at = '/1.0/storage-pools/default/volumes/custom';

export const storageProofs: Readonly<Record<string, Proof>> = {
  'storage info': async (world) =>
    expect(await world.lxc('storage', 'info', (await pool(world)).name)).toMatch(/total space: [\d.]+/),
  'storage volume list': async (world) => {
    const [{ name: of }, c] = [await volume(world), await made(world)];
    await world.lxc('snapshot', c, 's');
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 's');
    const list = await world.lxc('storage', 'volume', 'list', 'default', '-f', 'csv', '-c', 'tn');
    expect(list.split('\n')).toEqual(expect.arrayContaining([`custom,${of}`, `container,${c}`]));
    const snapshots = [`custom (snapshot),${of}/s`, `container (snapshot),${c}/s`];
    expect(list.split('\n')).toEqual(expect.arrayContaining(snapshots));
    const filtered = await world.lxc('storage', 'volume', 'list', 'default', 'type=custom', '-f', 'csv', '-c', 'tn');
    expect(filtered.split('\n')).toContain(`custom,${of}`);
    expect(filtered).not.toContain('container,');
  },
  'storage volume edit': async (world) => {
    await objectProofs['storage volume edit']?.(world);
    const c = await made(world);
    await world.lxc('snapshot', c, 's');
    const ofContainer = `${at.replace('/custom', '/container')}/${c}`;
    const root = (last: string, name: string): string[] => ['storage', 'volume', last, 'default', `container/${name}`];
    await edited(world, root('show', c), root('edit', c), described);
    expect((await world.daemon.get(ofContainer)).description).toBe('new');
    await world.lxc(...root('set', c), 'user.a=1');
    expect(await world.lxc(...root('get', c), 'user.a')).toBe('1\n');
    expect(await world.lxc(...root('show', `${c}/s`))).toMatch(/name: s\n/);
    await edited(world, root('show', `${c}/s`), root('edit', `${c}/s`), described);
    // The client does not wait for the operation.
    await until(async () => (await world.daemon.get(`${ofContainer}/snapshots/s`)).description === 'new');
  },
  'storage volume copy': async (world) => {
    const [{ name: of }, { name: to }] = [await volume(world), await pool(world)];
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 's');
    await world.lxc('storage', 'volume', 'copy', `default/${of}`, `${to}/${of}x`);
    expect(await world.daemon.get(`/1.0/storage-pools/${to}/volumes/custom/${of}x/snapshots`)).toHaveLength(1);
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 'later');
    await world.lxc('storage', 'volume', 'copy', `default/${of}`, `${to}/${of}x`, '--refresh');
    expect(await world.daemon.get(`/1.0/storage-pools/${to}/volumes/custom/${of}x/snapshots`)).toHaveLength(2);
    await world.lxc('storage', 'volume', 'copy', `a:default/${of}`, `b:default/${of}`, '--volume-only');
    expect((await world.other.get(`${at}/${of}`)).config).toMatchObject({ 'user.a': '1' });
  },
  'storage volume move': async (world) => {
    const [{ name: of }, { name: to }] = [await volume(world), await pool(world)];
    await world.lxc('storage', 'volume', 'move', `default/${of}`, `${to}/${of}x`);
    await isGone(world, `${at}/${of}`);
    expect((await world.daemon.get(`/1.0/storage-pools/${to}/volumes/custom/${of}x`)).name).toBe(`${of}x`);
  },
  'storage volume snapshot': async (world) => {
    const { name: of } = await volume(world);
    await world.lxc('storage', 'volume', 'snapshot', 'default', of);
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 'named');
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 'named', '--reuse');
    expect(await world.daemon.get(`${at}/${of}/snapshots`)).toHaveLength(2);
  },
  'storage volume restore': async (world) => {
    const { name: of } = await volume(world);
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 's');
    await world.lxc('storage', 'volume', 'restore', 'default', of, 's');
    expect((await world.lxc.run(['storage', 'volume', 'restore', 'default', of, 'none'])).stderr).toMatch(/not found/);
  },
  'storage volume attach': async (world) => {
    const [c, { name: of }] = [await made(world), await volume(world)];
    await world.lxc('storage', 'volume', 'attach', 'default', of, c, 'data', '/data');
    expect((await world.daemon.get(`/1.0/containers/${c}`)).devices.data).toMatchObject({ source: of, path: '/data' });
  },
  'storage volume detach': async (world) => {
    const [c, { name: of }] = [await made(world), await volume(world)];
    await world.lxc('storage', 'volume', 'attach', 'default', of, c, '/data');
    await world.lxc('storage', 'volume', 'detach', 'default', of, c);
    expect((await world.daemon.get(`/1.0/containers/${c}`)).devices).toEqual({});
  },
  'storage volume attach-profile': async (world) => {
    const [{ name: of }, profile] = [await volume(world), name()];
    await world.lxc('profile', 'create', profile);
    await world.lxc('storage', 'volume', 'attach-profile', 'default', of, profile, 'data', '/data');
    expect((await world.daemon.get(`/1.0/profiles/${profile}`)).devices.data.source).toBe(of);
  },
  'storage volume detach-profile': async (world) => {
    const [{ name: of }, profile] = [await volume(world), name()];
    await world.lxc('profile', 'create', profile);
    await world.lxc('storage', 'volume', 'attach-profile', 'default', of, profile, 'data', '/data');
    await world.lxc('storage', 'volume', 'detach-profile', 'default', of, profile);
    expect((await world.daemon.get(`/1.0/profiles/${profile}`)).devices).toEqual({});
  },
  'storage volume export': async (world) => {
    const { name: of } = await volume(world);
    const words = ['storage', 'volume', 'export', 'default', of, file(world, `${of}.tar`)];
    await world.lxc(...words, '--volume-only', '--compression', 'none');
    expect(textOf(file(world, `${of}.tar`))).toMatch(/^backup\/index\.yaml\0/);
    expect(await world.daemon.get(`${at}/${of}/backups`)).toEqual([]);
  },
  'storage volume import': async (world) => {
    const { name: of } = await volume(world);
    await world.lxc('storage', 'volume', 'snapshot', 'default', of, 's');
    await world.lxc('storage', 'volume', 'export', 'default', of, file(world, `${of}.tgz`));
    await world.lxc('storage', 'volume', 'import', 'default', file(world, `${of}.tgz`), `${of}x`);
    expect((await world.daemon.get(`${at}/${of}x`)).config).toEqual({ 'user.a': '1' });
    expect(await world.daemon.get(`${at}/${of}x/snapshots`)).toHaveLength(1);
    const taken = await world.lxc.run(['storage', 'volume', 'import', 'default', file(world, `${of}.tgz`)]);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringMatching(/already exists/)]);
  },
  'image import': async (world) => expect((await image(world)).properties.note).toBe('one'),
  'image list': async (world) => listed(world, (await image(world)).fingerprint, 'image', 'list', '-c', 'lF'),
  'image info': async (world) =>
    expect(await world.lxc('image', 'info', (await image(world)).fingerprint)).toMatch(/note: one/),
  'image show': async (world) =>
    expect(await world.lxc('image', 'show', (await image(world)).fingerprint)).toMatch(/note: one/),
  'image get-property': async (world) =>
    expect(await world.lxc('image', 'get-property', (await image(world)).fingerprint, 'note')).toBe('one\n'),
  'image set-property': async (world) => {
    const { fingerprint } = await image(world);
    await world.lxc('image', 'set-property', fingerprint, 'note', 'two');
    expect((await world.daemon.get(`/1.0/images/${fingerprint}`)).properties.note).toBe('two');
  },
  'image unset-property': async (world) => {
    const { fingerprint } = await image(world);
    await world.lxc('image', 'unset-property', fingerprint, 'note');
    expect((await world.daemon.get(`/1.0/images/${fingerprint}`)).properties).not.toHaveProperty('note');
  },
  'image edit': async (world) => {
    const { fingerprint } = await image(world);
    const words = (last: string): string[] => ['image', last, fingerprint];
    await edited(world, words('show'), words('edit'), (text) => text.replace('public: true', 'public: false'));
    expect((await world.daemon.get(`/1.0/images/${fingerprint}`)).public).toBe(false);
  },
  'image export': async (world) => {
    const { fingerprint } = await image(world);
    const dir = file(world, name());
    mkdirSync(dir);
    await world.lxc('image', 'export', fingerprint, `${dir}/`);
    expect(readdirSync(dir)).toHaveLength(1);
  },
  'image delete': async (world) => {
    const { fingerprint } = await image(world);
    await world.lxc('image', 'delete', fingerprint);
    await isGone(world, `/1.0/images/${fingerprint}`);
  },
  'image copy': async (world) => {
    const { fingerprint } = await image(world);
    const alias = name();
    await world.lxc('image', 'copy', `a:${fingerprint}`, 'b:', '--alias', alias, '--public');
    expect((await world.other.get(`/1.0/images/aliases/${alias}`)).target).toBe(fingerprint);
    // The image is there already: only the alias is new.
    await world.lxc('image', 'copy', `a:${fingerprint}`, 'b:', '--alias', `${alias}x`);
    expect((await world.other.get(`/1.0/images/aliases/${alias}x`)).target).toBe(fingerprint);
    await world.lxc('image', 'delete', `b:${fingerprint}`);
    await world.lxc('image', 'copy', `a:${fingerprint}`, 'b:', '--mode=relay');
    expect((await world.other.get(`/1.0/images/${fingerprint}`)).fingerprint).toBe(fingerprint);
    const pushed = await world.lxc.run(['image', 'copy', `a:${fingerprint}`, 'b:', '--mode=push']);
    expect([pushed.code, pushed.stderr]).toEqual([1, expect.stringMatching(/pull or relay/)]);
  },
  'image refresh': async (world) => {
    const { alias, fingerprint } = await aliased(world);
    const { certificate } = (await world.daemon.get('/1.0')).environment;
    const source = {
      type: 'image',
      mode: 'pull',
      protocol: 'lxd',
      server: `https://${world.https}`,
      certificate,
      alias,
    };
    const body = { source, auto_update: true, aliases: [{ name: alias, description: '' }] };
    await world.other.ok('POST', '/1.0/images', body);
    expect((await world.other.get(`/1.0/images/${fingerprint}`)).auto_update).toBe(true);
    const next = await image(world);
    await world.lxc('image', 'alias', 'delete', alias);
    await world.lxc('image', 'alias', 'create', alias, next.fingerprint);
    await world.lxc('image', 'refresh', `b:${alias}`);
    expect((await world.other.get(`/1.0/images/aliases/${alias}`)).target).toBe(next.fingerprint);
  },
  'image alias create': async (world) => {
    const { alias, fingerprint } = await aliased(world);
    expect((await world.daemon.get(`/1.0/images/aliases/${alias}`)).target).toBe(fingerprint);
  },
  'image alias list': async (world) => listed(world, `${(await aliased(world)).alias},`, 'image', 'alias', 'list'),
  'image alias rename': async (world) => {
    const { alias, fingerprint } = await aliased(world);
    await world.lxc('image', 'alias', 'rename', alias, `${alias}x`);
    expect((await world.daemon.get(`/1.0/images/aliases/${alias}x`)).target).toBe(fingerprint);
  },
  'image alias delete': async (world) => {
    const { alias } = await aliased(world);
    await world.lxc('image', 'alias', 'delete', alias);
    await isGone(world, `/1.0/images/aliases/${alias}`);
  },
};

/** A new one that differs from all others. */
async function image(world: World): Promise<Json> {
  const alias = name();
  const mark = { name: 'rootfs/mark', content: alias };
  const tarball = join(world.work, `${alias}.tar`);
  writeFileSync(tarball, tarOf(metadataFile, rootfsDirectory, mark));
  await world.lxc('image', 'import', tarball, '--alias', alias, '--public', 'note=one');
  const { target } = await world.daemon.get(`/1.0/images/aliases/${alias}`);
  return world.daemon.get(`/1.0/images/${target}`);
}

async function aliased(world: World): Promise<{ readonly alias: string; readonly fingerprint: string }> {
  const { fingerprint } = await image(world);
  const alias = name();
  await world.lxc('image', 'alias', 'create', alias, fingerprint);
  return { alias, fingerprint };
}
