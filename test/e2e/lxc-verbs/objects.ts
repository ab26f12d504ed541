// Kinds of objects that `lxc` makes, and proofs of the verbs that they share; those of the devices of containers and profiles, too.
import { expect } from 'vitest';
import type { Json } from '../../support/daemons/daemon.ts';
import type { Lxc } from '../../support/hosts/lxd-clients.ts';
import { edited, isGone, listed, name, type Proof, type World } from './world.ts';

interface Kind {
  /** The words before the verb. */
  readonly words: readonly string[];
  /** The words before its name. */
  readonly place?: readonly string[];
  /** Its list in the API. */
  readonly path: string;
  /** Makes one with `user.a=1` in its config. */
  make(lxc: Lxc, of: string): Promise<unknown>;
  /** What follows its name in a list. */
  readonly row: string;
  readonly shown: RegExp;
}

export interface Made {
  readonly name: string;
  read(): Promise<Json>;
}

const kinds = {
  profile: {
    words: ['profile'],
    path: '/1.0/profiles',
    make: async (lxc, of) => {
      await lxc('profile', 'create', of);
      await lxc('profile', 'set', of, 'user.a', '1');
    },
    row: ',',
    shown: /user\.a: "1"/,
  },
  network: {
    words: ['network'],
    path: '/1.0/networks',
    make: (lxc, of) =>
      lxc('network', 'create', of, `ipv4.address=${subnetOf(of)}.1/24`, 'ipv6.address=none', 'user.a=1'),
    row: ',bridge,YES',
    shown: /managed: true/,
  },
  acl: {
    words: ['network', 'acl'],
    path: '/1.0/network-acls',
    make: (lxc, of) => lxc('network', 'acl', 'create', of, 'user.a=1'),
    row: ',,0',
    shown: /ingress: \[\]/,
  },
  project: {
    words: ['project'],
    path: '/1.0/projects',
    make: (lxc, of) => lxc('project', 'create', of, '-c', 'features.images=false', '-c', 'user.a=1'),
    row: ',NO',
    shown: /features\.images: "false"/,
  },
  pool: {
    words: ['storage'],
    path: '/1.0/storage-pools',
    make: (lxc, of) => lxc('storage', 'create', of, 'dir', 'user.a=1'),
    row: ',dir,',
    shown: /driver: dir/,
  },
  volume: {
    words: ['storage', 'volume'],
    place: ['default'],
    path: '/1.0/storage-pools/default/volumes/custom',
    make: (lxc, of) => lxc('storage', 'volume', 'create', 'default', of, 'user.a=1'),
    row: '',
    shown: /type: custom/,
  },
} satisfies Readonly<Record<string, Kind>>;

/** The network part of an address, one for each name. */
export const subnetOf = (of: string): string => `10.99.${Number(of.slice(1)) % 256}`;

const making =
  (kind: Kind) =>
  async ({ lxc, daemon }: World): Promise<Made> => {
    const of = name();
    await kind.make(lxc, of);
    return { name: of, read: () => daemon.get(`${kind.path}/${of}`) };
  };
export const profile = making(kinds.profile);
export const network = making(kinds.network);
export const acl = making(kinds.acl);
export const project = making(kinds.project);
export const pool = making(kinds.pool);
export const volume = making(kinds.volume);

/** The description of a `show`, changed. */
export const described = (text: string): string => text.replace('description: ""', 'description: new');

function sharedProofs(kind: Kind): readonly (readonly [verb: string, proof: Proof])[] {
  const { words, place = [], path, row, shown } = kind;
  const of = (verb: string, ...rest: string[]): string[] => [...words, verb, ...place, ...rest];
  const proofs: Readonly<Record<string, (world: World, made: Made) => Promise<unknown>>> = {
    create: async (_world, made) => expect((await made.read()).config).toMatchObject({ 'user.a': '1' }),
    list: (world, made) => listed(world, `${made.name}${row}`, ...words, 'list', ...place),
    show: async ({ lxc }, made) => expect(await lxc(...of('show', made.name))).toMatch(shown),
    get: async ({ lxc }, made) => expect(await lxc(...of('get', made.name, 'user.a'))).toBe('1\n'),
    set: async ({ lxc }, made) => {
      await lxc(...of('set', made.name, 'user.b=2'));
      expect((await made.read()).config).toMatchObject({ 'user.a': '1', 'user.b': '2' });
    },
    unset: async ({ lxc }, made) => {
      await lxc(...of('unset', made.name, 'user.a'));
      expect((await made.read()).config).not.toHaveProperty(['user.a']);
      const unknown = await lxc.run(of('unset', made.name, 'no.such'));
      expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no.such') });
    },
    edit: async (world, made) => {
      await edited(world, of('show', made.name), of('edit', made.name), described);
      expect((await made.read()).description).toBe('new');
    },
    rename: async ({ lxc, daemon }, made) => {
      await lxc(...of('rename', made.name, `${made.name}x`));
      await isGone({ daemon }, `${path}/${made.name}`);
      expect((await daemon.get(`${path}/${made.name}x`)).config).toMatchObject({ 'user.a': '1' });
    },
    delete: async ({ lxc, daemon }, made) => {
      await lxc(...of('delete', made.name));
      await isGone({ daemon }, `${path}/${made.name}`);
    },
  };
  const make = making(kind);
  return Object.entries(proofs).map(([verb, prove]) => [
    [...words, verb].join(' '),
    async (world) => prove(world, await make(world)),
  ]);
}

const { 'storage rename': _none, ...shared } = Object.fromEntries(Object.values(kinds).flatMap(sharedProofs));
/** `lxc` has no verb that renames a pool. */
export const objectProofs: Readonly<Record<string, Proof>> = shared;

/** Proofs of `config device` or `profile device`, on an object that `make` makes. */
export function deviceProofs(
  words: 'config' | 'profile',
  make: (world: World) => Promise<Made>,
): Readonly<Record<string, Proof>> {
  const proofs: Readonly<Record<string, (lxc: Lxc, devices: () => Promise<Json>) => Promise<unknown>>> = {
    add: async (_lxc, devices) => expect((await devices()).d).toMatchObject({ type: 'disk', path: '/d' }),
    list: async (lxc) => expect(await lxc('list')).toBe('d\n'),
    show: async (lxc) => expect(await lxc('show')).toMatch(/^d:\n {2}path: \/d\n/),
    get: async (lxc) => expect(await lxc('get', 'd', 'path')).toBe('/d\n'),
    set: async (lxc, devices) => {
      await lxc('set', 'd', 'path=/e', 'readonly=true');
      expect((await devices()).d).toMatchObject({ path: '/e', readonly: 'true' });
    },
    unset: async (lxc, devices) => {
      await lxc('set', 'd', 'readonly=true');
      await lxc('unset', 'd', 'readonly');
      expect((await devices()).d).not.toHaveProperty('readonly');
    },
    remove: async (lxc, devices) => {
      await lxc('remove', 'd');
      expect((await devices()).d).toBeUndefined();
    },
  };
  return Object.fromEntries(
    Object.entries(proofs).map(([verb, prove]): [string, Proof] => [
      `${words} device ${verb}`,
      async (world) => {
        const made = await make(world);
        const lxc = (last: string, ...more: string[]) => world.lxc(words, 'device', last, made.name, ...more);
        await lxc('add', 'd', 'disk', `source=${world.work}`, 'path=/d');
        await prove(lxc, async () => (await made.read()).devices);
      },
    ]),
  );
}
