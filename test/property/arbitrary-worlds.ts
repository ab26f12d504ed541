// Generated pairs of documents and worlds: small sets of names, so that documents, references and live objects often match.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import type { Document, JsonObject } from '../../reconciler/core/documents/document.ts';
import { asText } from '../../reconciler/core/documents/json-values.ts';
import type { Content } from '../../reconciler/core/documents/inside.ts';
import type { Observed } from '../../reconciler/core/documents/observed.ts';
import {
  document,
  fingerprintOf,
  imageDocument,
  liveAcl,
  liveAlias,
  liveContainer,
  liveImage,
  liveNetwork,
  livePool,
  liveProfile,
  world,
} from '../support/fakes/worlds.ts';

export const secretText = 'S3CR3T';

const pools = ['fast', 'slow', 'big'] as const;
const networks = ['web0', 'db0', 'lan0'] as const;
const acls = ['wall', 'gate'] as const;
const containers = ['c1', 'c2', 'c3', 'c4', 'c5'] as const;
const aliases = ['base', 'other'] as const;
const images = ['i1', 'i2'] as const;

const truth = fc.constantFrom('true', 'yes', '1', 'false', 'no', 'off');
const config = fc.record(
  {
    'limits.memory': fc.constantFrom('512MiB', '536870912', '1GiB', null),
    'limits.cpu': fc.constantFrom('1', '2', null),
    'security.nesting': truth,
    'security.privileged': truth,
    'limits.kernel.nofile': fc.constantFrom('1024', '2048', null, ''),
    'user.note': fc.constantFrom('a', 'b', null),
    'environment.DB_PASSWORD': fc.constantFrom(`${secretText}-1`, `${secretText}-2`, null),
    'environment.DB_URL': fc.constantFrom(`postgres://u:${secretText}@db/x`, 'plain'),
    'user.user-data': fc.constantFrom(`#cloud-config\npassword: ${secretText}\n`, ''),
  },
  { requiredKeys: [] },
);
const nic = fc.record({
  type: fc.constant('nic'),
  nictype: fc.constant('bridged'),
  parent: fc.constantFrom(...networks),
});
const root = (from: readonly string[]): fc.Arbitrary<JsonObject> =>
  fc.record({ type: fc.constant('disk'), path: fc.constant('/'), pool: fc.constantFrom(...from) });
const devices = (from: readonly string[]): fc.Arbitrary<JsonObject> =>
  fc.record(
    {
      eth0: fc.oneof(nic, nic, fc.constant({ type: 'none' }), fc.constant(null)),
      eth1: fc.oneof(nic, fc.constant(null)),
      root: root(from),
    },
    { requiredKeys: [] },
  );
const disruption = fc.constantFrom('none', 'restart', 'recreate', 'recreate');

const texts: ReadonlyMap<string, { readonly text: string }> = new Map(
  ['one\n', 'two\n'].map((text) => [`sha256:${createHash('sha256').update(text).digest('hex')}`, { text }] as const),
);
/** The bytes to the hashes. */
const contentsOf = (entries: JsonObject): Readonly<Record<string, Content>> =>
  Object.fromEntries(
    Object.entries(entries).flatMap(([path, entry]) => {
      const text = texts.get(asText((entry as JsonObject)['content']));
      return text === undefined ? [] : [[path, text]];
    }),
  );
const fileEntry = fc.record({
  type: fc.constant('file' as const),
  content: fc.constantFrom(...texts.keys()),
  mode: fc.constantFrom('0644', '0600'),
  uid: fc.constantFrom(0, 1000),
  gid: fc.constant(0),
});
const linkEntry = fc.record({ type: fc.constant('symlink' as const), target: fc.constantFrom('motd', '/srv') });
/** The declared entries of a directory, and the existing ones. */
const directoryEntry = fc.record(
  { type: fc.constant('directory' as const), mode: fc.constantFrom('0755', '0700') },
  { requiredKeys: ['type'] },
);
const wholeDirectory = fc.record({
  type: fc.constant('directory' as const),
  mode: fc.constantFrom('0755', '0700'),
  uid: fc.constant(0),
  gid: fc.constant(0),
});
const files = fc.record(
  {
    '/etc/motd': fc.oneof(fileEntry, fileEntry, linkEntry),
    '/etc/app/main.conf': fileEntry,
    '/etc/link': linkEntry,
    '/srv': directoryEntry,
  },
  { requiredKeys: [] },
);
const liveFiles = fc.record(
  {
    '/etc/motd': fc.oneof(fileEntry, wholeDirectory),
    '/etc/app/main.conf': fileEntry,
    '/etc/link': fc.oneof(linkEntry, fileEntry),
    '/srv': wholeDirectory,
  },
  { requiredKeys: [] },
);
const command = fc.constantFrom(['true'], ['sh', '-c', `echo ${secretText}`]);
const timeout = { timeout_ms: fc.constant(1000) };
const exec = fc.record(
  {
    setup: fc.record({
      command,
      environment: fc.constantFrom({ PW: `${secretText}-1` }, { PW: `${secretText}-2` }),
      ...timeout,
    }),
    once: fc.record({ command, once: fc.constant(true), ...timeout }),
    reload: fc.record({
      command,
      on_change: fc.constantFrom(['/etc'], ['/etc/motd', 'config.limits.memory']),
      ...timeout,
    }),
    boot: fc.record({ command, on_start: fc.constant(true), ...timeout }),
    made: fc.record({ command, creates: fc.constantFrom('/made', '/other'), ...timeout }),
  },
  { requiredKeys: [] },
);
const execSecrets = ['setup', 'once', 'reload', 'boot', 'made'].flatMap((name) => [
  `exec.${name}.command.2`,
  `exec.${name}.environment.PW`,
]);
const snapshots = fc.record(
  { fresh: fc.record({ expires_at: fc.constantFrom('2099-01-01T00:00:00.000Z', '2098-01-01T00:00:00.000Z') }) },
  { requiredKeys: [] },
);

const containerDocument = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({
      values: fc.record(
        {
          description: fc.constantFrom('', 'one', 'two'),
          profiles: fc.constantFrom(['default'], ['default', 'web'], ['web', 'db'], []),
          config,
          devices: devices(pools),
          ephemeral: fc.boolean(),
          architecture: fc.constantFrom('x86_64', 'x86_64', 'aarch64'),
          files,
          exec,
          snapshots,
        },
        { requiredKeys: [] },
      ),
      state: fc.constantFrom('running', 'stopped', undefined),
      disruption,
      protect: fc.boolean().map((value) => value && name === 'c1'),
      power: fc.constantFrom('managed', 'managed', 'managed', 'ignore'),
      image: fc.constantFrom('none', 'none', 'new-only', 'rebuild', 'recreate'),
      alias: fc.constantFrom(...aliases),
      waits: fc.boolean(),
      ignore: fc.constantFrom([], [], ['config.limits.cpu'], ['config.user.*', 'devices.eth1']),
    })
    .map(({ values, state, protect, disruption, power, image, alias, waits, ignore }) =>
      document(
        'container',
        name,
        { ...values, source: { type: 'image', alias } },
        {
          secrets: execSecrets,
          contents: contentsOf((values.files ?? {}) as JsonObject),
          ...(state === undefined ? {} : { state: state }),
          manage: {
            protect,
            ignore: ignore.map((path) => ({ path })),
            disruption: disruption,
            power: power,
            image: image,
            wait: waits ? [{ type: 'running', timeoutMs: 1000 }] : [],
          },
        },
      ),
    );

const poolDocument = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({ driver: fc.constantFrom('dir', 'dir', 'btrfs'), description: fc.constantFrom('', 'd'), disruption })
    .map(({ disruption, ...values }) =>
      document(
        'storage_pool',
        name,
        { ...values, config: { source: '/dev/sdb', 'user.x': '1' } },
        { manage: { disruption: disruption } },
      ),
    );
const networkDocument = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({
      'ipv4.address': fc.constantFrom('auto', '10.0.0.1/24', '10.9.0.1/24', 'none'),
      'ipv4.nat': truth,
      'ipv6.address': fc.constantFrom('auto', 'fd42:0001::1/64', 'FD42:1:0::1/64', 'none'),
      'security.acls': fc.constantFrom('', '', 'wall', 'gate', 'wall,gate'),
    })
    .map((config) => document('network', name, { type: 'bridge', config }));
const aclRule = fc.constantFrom(
  { action: 'allow', state: 'enabled' },
  { action: 'drop', state: 'logged', source: '192.0.2.0/24' },
  { action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: '80,443' },
);
const aclRules = fc.uniqueArray(aclRule, { maxLength: 3, selector: (rule) => JSON.stringify(rule) });
const aclDocument = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({ ingress: aclRules, egress: aclRules, config: fc.constantFrom({}, { 'user.x': '1' }) })
    .map((values) => document('network_acl', name, values));
const profileDocument = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({ config, devices: devices(['fast', 'fast', 'fast', 'slow']), description: fc.constantFrom('', 'p') })
    .map((values) => document('profile', name, values as JsonObject));
const imageDoc = (name: string): fc.Arbitrary<Document> =>
  fc
    .record({ properties: fc.constantFrom({}, { os: 'busybox' }, { os: 'other', x: null }), public: fc.boolean() })
    .map((values) => imageDocument(name, fingerprintOf(name), values as JsonObject));
const aliasDocument = (name: string): fc.Arbitrary<Document> =>
  fc.constantFrom('i1', 'i2').map((target) => document('image_alias', name, { target }));

function some(
  names: readonly string[],
  make: (name: string) => fc.Arbitrary<Document>,
): fc.Arbitrary<readonly Document[]> {
  return fc.subarray([...names]).chain((chosen) => fc.tuple(...chosen.map(make)));
}

/** Pools, ACLs, networks, profiles, images and aliases are all declared, so that every reference can be followed. */
const documents: fc.Arbitrary<readonly Document[]> = fc
  .tuple(
    ...pools.map(poolDocument),
    ...acls.map(aclDocument),
    ...networks.map(networkDocument),
    ...['web', 'db'].map(profileDocument),
    ...images.map(imageDoc),
    ...aliases.map(aliasDocument),
    some(['default'], profileDocument),
    some(containers, containerDocument),
  )
  .map((parts) => parts.flat() as readonly Document[]);

const present = (values: JsonObject): Record<string, never> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== '')) as Record<
    string,
    never
  >;

const observed: fc.Arbitrary<Observed> = fc
  .record({
    pools: fc
      .subarray(['slow', 'big'])
      .chain((names) =>
        fc.tuple(
          ...['fast', ...names].map((name) =>
            fc.constantFrom('dir', 'dir', 'zfs').map((driver) => livePool(name, { driver })),
          ),
        ),
      ),
    acls: fc
      .subarray([...acls, 'stray'])
      .chain((names) => fc.tuple(...names.map((name) => aclRules.map((ingress) => liveAcl(name, { ingress }))))),
    networks: fc.subarray([...networks]).map((names) => names.map((name) => liveNetwork(name))),
    profiles: fc.subarray(['web', 'db']).chain((names) =>
      fc.tuple(
        ...['default', ...names].map((name) =>
          fc.record({ config, root: root(['fast']) }).map(({ config, root }) =>
            liveProfile(name, {
              config: present(config as JsonObject),
              devices: { root: root as Record<string, string> },
            }),
          ),
        ),
      ),
    ),
    images: fc.subarray([...images]).map((names) => names.map((name) => liveImage(fingerprintOf(name)))),
    aliases: fc.subarray([...aliases]).map((names) => names.map((name) => liveAlias(name, fingerprintOf('i1')))),
    containers: fc.subarray([...containers, 'stranger']).chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          fc
            .record({
              config,
              ephemeral: fc.boolean(),
              running: fc.boolean(),
              isProtected: fc.constantFrom(false, false, false, true),
              files: liveFiles,
              made: fc.constantFrom({}, { '/made': true }),
              profiles: fc.constantFrom<string[]>(['default'], ['default', 'web'], ['db']),
            })

            .map(({ config, ephemeral, running, isProtected, profiles, files, made }) =>
              Object.assign(
                liveContainer(name, {
                  ephemeral,
                  profiles,
                  config: {
                    ...present(config as JsonObject),
                    'user.by-hand': name,
                    'volatile.base_image': fingerprintOf('i1'),
                    'volatile.eth0.hwaddr': '00:16:3e:11:22:33',
                    ...(isProtected ? { 'security.protection.delete': 'true' } : {}),
                  },
                  devices: { manual: { type: 'unix-char', path: '/dev/null' } },
                  ...(running ? {} : { status: 'Stopped', status_code: 102 }),
                }),
                { files, made, contents: contentsOf(files as JsonObject) },
              ),
            ),
        ),
      ),
    ),
  })
  .map((parts) => {
    const known = new Set(parts.profiles.map((profile) => profile.name));
    const containers = parts.containers.map((container) => ({
      ...container,
      profiles: container.profiles.filter((name) => known.has(name)),
    }));
    return world({ ...parts, containers });
  });

export const scenes = fc.record({ documents, observed });

/** FNV-1a: different texts rarely collide, and it does not reveal the text. */
export function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (const character of text) sum = Math.imul(sum ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return sum.toString(36);
}
