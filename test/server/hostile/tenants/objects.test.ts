// A tenant within its own project tries to reach objects of another team: by names, sources, devices, addresses, images, operations and
// server facts. Each attempt gets its exact refusal, and the other team's objects stay unchanged, byte for byte.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSharedHost, type SharedHost } from '../../../support/hostile/shared-host.ts';

let host: SharedHost;
let before = '';
beforeAll(async () => {
  host = await openSharedHost();
  before = await host.world();
});
afterAll(() => host.cleanUp());

type Refusal = readonly [status: 202 | 400 | 403 | 404 | 409 | 200, text: string | RegExp];
type Attempt = readonly [what: string, method: string, path: string, body: object | undefined, refusal: Refusal];

/** The refusal is the answer, or the error of the operation. */
async function meets([, method, path, body, [status, text]]: Attempt): Promise<void> {
  const put = (part: string): string =>
    part.replaceAll('FINGERPRINT', host.fingerprint).replaceAll('OTHERCERT', host.otherFingerprint);
  const answer = await host.tenant(
    method,
    put(path),
    body === undefined ? undefined : (JSON.parse(put(JSON.stringify(body))) as object),
  );
  let told = answer.bytes.toString();
  if (answer.status === 202) told = (await host.admin.wait(answer.body.operation as string)).err;
  // Some messages contain the daemon's internal names of the tenant's own objects.
  told = told.replaceAll('mine%', '').replaceAll(String.raw`\u0000`, '');
  const wanted =
    typeof text === 'string' ? expect.stringContaining(put(text).replaceAll('mine%', '')) : expect.stringMatching(text);
  expect([answer.status, told]).toEqual([status, wanted]);
  expect(told).not.toMatch(/of-victim|of-theirs|of-profile/);
}

/** After each group rather than each attempt: reading everything takes longer than the attempts. */
const expectUnchanged = (): void =>
  test('nothing of the other team has changed', async () => {
    expect(await host.world()).toBe(before);
  });

const own = '?project=mine';
const noContainer = (name: string): Refusal => [404, `The container ${name} was not found`];

/** Spellings of paths that could lead to the victim's container. */
const spellings: readonly (readonly [string, string])[] = [
  ['victim', 'victim'],
  ['theirs%25victim', 'theirs%victim'],
  ['theirs%2525victim', 'theirs%25victim'],
  ['theirs_victim', 'theirs_victim'],
  ['theirs%2Fvictim', 'theirs/victim'],
  ['mine%25..%25theirs%25victim', 'mine%..%theirs%victim'],
  ['..%25theirs%25victim', '..%theirs%victim'],
  ['VICTIM', 'VICTIM'],
  ['victim%00', 'victim'],
  ['default%25base', 'default%base'],
  ['%25base', '%base'],
  ['base', 'base'],
  ['%25theirs%25victim', '%theirs%victim'],
  // An existing project is answered like a missing one.
  ['%25nosuch%25victim', '%nosuch%victim'],
];

const verbs: readonly (readonly [string, string, object | undefined])[] = [
  ['GET', '', undefined],
  ['DELETE', '', undefined],
  ['PATCH', '', { config: { 'user.a': 'b' } }],
  ['GET', '/state', undefined],
  ['PUT', '/state', { action: 'start' }],
  ['GET', '/files?path=/', undefined],
  ['GET', '/snapshots', undefined],
  ['GET', '/backups/back/export', undefined],
  ['POST', '/exec', { command: ['true'] }],
  ['GET', '/metadata', undefined],
];

describe('names in paths', () => {
  test.each(spellings)('no verb finds a container at %s', async (name, plain) => {
    for (const [method, rest, body] of verbs) {
      const path = `/1.0/containers/${name}${rest}${rest.includes('?') ? '&' : '?'}project=mine`;
      await meets([`${method} ${name}${rest}`, method, path, body, noContainer(plain.replace(/\0/g, ''))]);
    }
  });
  expectUnchanged();
});

const none = { type: 'none' } as const;
const create = (what: string, body: object, refusal: Refusal): Attempt => [
  what,
  'POST',
  `/1.0/containers${own}`,
  { name: 'new', source: none, ...body },
  refusal,
];
const device = (what: string, properties: object, refusal: Refusal): Attempt =>
  create(what, { devices: { d: properties } }, refusal);
const volume = '/1.0/storage-pools/default/volumes/custom';

const attempts: readonly Attempt[] = [
  // Copies and moves.
  ...['victim', 'victim/snap', 'theirs%victim', 'base', 'default%base', '../theirs/victim'].map((source) =>
    create(`a copy of ${source}`, { source: { type: 'copy', source } }, [404, 'was not found']),
  ),
  ...['theirs', 'default', 'nowhere'].map((project) =>
    create(`a copy from the project ${project}`, { source: { type: 'copy', source: 'own', project } }, [
      404,
      `The project ${project} was not found`,
    ]),
  ),
  ...['theirs', 'default', 'nowhere'].map((project): Attempt => [
    `a move to the project ${project}`,
    'POST',
    `/1.0/containers/own${own}`,
    { name: 'own', migration: true, project },
    [404, `The project ${project} was not found`],
  ]),
  // Images.
  ...[
    { fingerprint: 'FINGERPRINT' },
    { alias: 'img' },
    { alias: 'theirs%img' },
    { fingerprint: 'theirs%FINGERPRINT' },
  ].map((source) =>
    create(`a container of the image ${JSON.stringify(source)}`, { source: { type: 'image', ...source } }, [
      404,
      'not found',
    ]),
  ),
  ...['FINGERPRINT', 'theirs%25FINGERPRINT', 'theirs%25', '%25'].flatMap((name): readonly Attempt[] => [
    [`the image ${name}`, 'GET', `/1.0/images/${name}${own}`, undefined, [404, 'not found']],
    [`the export of ${name}`, 'GET', `/1.0/images/${name}/export${own}`, undefined, [404, 'not found']],
    [`a secret of ${name}`, 'POST', `/1.0/images/${name}/secret${own}`, {}, [404, 'not found']],
    [`a refresh of ${name}`, 'POST', `/1.0/images/${name}/refresh${own}`, {}, [404, 'not found']],
    [`the end of ${name}`, 'DELETE', `/1.0/images/${name}${own}`, undefined, [404, 'not found']],
    [`a public ${name}`, 'PATCH', `/1.0/images/${name}${own}`, { public: true }, [404, 'not found']],
  ]),
  ['the alias img', 'GET', `/1.0/images/aliases/img${own}`, undefined, [404, 'The image alias img was not found']],
  ['the alias theirs%img', 'GET', `/1.0/images/aliases/theirs%25img${own}`, undefined, [404, 'was not found']],
  ['a rename of img', 'POST', `/1.0/images/aliases/img${own}`, { name: 'x' }, [404, 'was not found']],
  [
    'an alias of the victim’s image',
    'POST',
    `/1.0/images/aliases${own}`,
    { name: 'x', target: 'FINGERPRINT' },
    [404, 'not found'],
  ],
  [
    'an image made of the victim',
    'POST',
    `/1.0/images${own}`,
    { source: { type: 'container', name: 'victim' } },
    [404, 'was not found'],
  ],
  [
    'an image copied from the project theirs',
    'POST',
    `/1.0/images${own}`,
    { source: { type: 'image', mode: 'pull', fingerprint: 'FINGERPRINT', project: 'theirs' } },
    [404, 'The project theirs was not found'],
  ],
  // Profiles.
  ...['hidden', 'theirs%hidden', '../theirs/hidden'].map((profile) =>
    create(`the profile ${profile}`, { profiles: [profile] }, [400, `there is no profile ${profile}`]),
  ),
  ['the profile hidden', 'GET', `/1.0/profiles/hidden${own}`, undefined, [404, 'The profile hidden was not found']],
  ['the profile theirs%hidden', 'GET', `/1.0/profiles/theirs%25hidden${own}`, undefined, [404, 'was not found']],
  ['the end of hidden', 'DELETE', `/1.0/profiles/hidden${own}`, undefined, [404, 'was not found']],
  [
    'a profile with a name of others',
    'POST',
    `/1.0/profiles${own}`,
    { name: 'theirs%x' },
    [400, 'Invalid profile name'],
  ],
  [
    'a container with a name of others',
    'POST',
    `/1.0/containers${own}`,
    { name: 'theirs%x', source: none },
    [400, 'Invalid container name'],
  ],
  [
    'a volume with a name of others',
    'POST',
    `${volume}${own}`,
    { name: 'theirs%x' },
    [400, 'Invalid storage volume name'],
  ],
  [
    'an alias with a name of others',
    'POST',
    `/1.0/images/aliases${own}`,
    { name: 'theirs%x', target: 'FINGERPRINT' },
    [400, 'Invalid image alias name'],
  ],
  ['a rename into theirs', 'POST', `/1.0/containers/own${own}`, { name: 'theirs%x' }, [400, 'Invalid container name']],
  // Devices.
  device('the volume of the victim', { type: 'disk', path: '/m', pool: 'default', source: 'vol' }, [202, 'not found']),
  device('the volume theirs%vol', { type: 'disk', path: '/m', pool: 'default', source: 'theirs%vol' }, [
    202,
    'not found',
  ]),
  device('the volume of a container', { type: 'disk', path: '/m', pool: 'default', source: 'container/victim' }, [
    202,
    'not found',
  ]),
  device('a path of the host', { type: 'disk', path: '/m', source: '/etc' }, [
    403,
    'restricted.devices.disk is managed',
  ]),
  device('the storage of the victim', { type: 'disk', path: '/m', source: '/var/lib/gantry/storage-pools/default' }, [
    403,
    'restricted.devices.disk',
  ]),
  device('a path that climbs', { type: 'disk', path: '/m', source: '/srv/../etc' }, [
    400,
    'must be an absolute path without ..',
  ]),
  device('the bridge of others', { type: 'nic', network: 'secretnet' }, [403, 'restricted.networks.access']),
  device('the bridge as a parent', { type: 'nic', nictype: 'bridged', parent: 'secretnet' }, [
    403,
    'restricted.devices.nic',
  ]),
  device('a parent of the host', { type: 'nic', nictype: 'macvlan', parent: 'lo' }, [403, 'restricted.devices.nic']),
  device('an interface of the host', { type: 'nic', nictype: 'physical', parent: 'lo' }, [
    403,
    'restricted.devices.nic',
  ]),
  device('routes on the host', { type: 'nic', network: 'lan', 'ipv4.routes': '10.0.0.0/8' }, [
    403,
    'restricted.devices.nic',
  ]),
  device('a proxy to the host', { type: 'proxy', listen: 'tcp:0.0.0.0:81', connect: 'tcp:127.0.0.1:22' }, [
    403,
    'restricted.devices.proxy',
  ]),
  device('a socket of the host', { type: 'proxy', bind: 'container', listen: 'unix:/s', connect: 'unix:/run/x' }, [
    403,
    'restricted.devices.proxy',
  ]),
  ...['gpu', 'usb'].map((type) => device(`a ${type}`, { type }, [403, `restricted.devices.${type}`])),
  device('a disk of the host', { type: 'unix-block', path: '/dev/sda' }, [403, 'restricted.devices.unix-block']),
  device('memory of the host', { type: 'unix-char', path: '/dev/mem' }, [403, 'restricted.devices.unix-char']),
  device('an infiniband', { type: 'infiniband', nictype: 'physical', parent: 'ib0' }, [
    403,
    'restricted.devices.infiniband',
  ]),
  // Config.
  ...(
    [
      ['security.privileged', 'true'],
      ['security.nesting', 'true'],
      ['raw.lxc', 'lxc.mount.entry = /etc mnt none bind'],
      ['raw.apparmor', 'mount,'],
      ['raw.seccomp', '2'],
      ['raw.idmap', 'both 0 0'],
      ['linux.kernel_modules', 'loop'],
      ['security.idmap.base', '0'],
      ['security.idmap.size', '100000'],
      ['security.devlxd.images', 'true'],
      ['boot.host_shutdown_timeout', '9999'],
    ] as const
  ).flatMap(([key, value]): readonly Attempt[] => [
    create(`${key} at creation`, { config: { [key]: value } }, [403, `config.${key} `]),
    [`${key} by a change`, 'PATCH', `/1.0/containers/own${own}`, { config: { [key]: value } }, [403, `config.${key} `]],
    [
      `${key} by a profile`,
      'POST',
      `/1.0/profiles${own}`,
      { name: 'x', config: { [key]: value } },
      [403, `config.${key} `],
    ],
  ]),
  ...[
    ['volatile.idmap.next', '[{"Isuid":true,"Isgid":true,"Hostid":0,"Nsid":0,"Maprange":65536}]'],
    ['volatile.idmap.base', '0'],
    ['volatile.last_state.idmap', '[]'],
    ['volatile.uuid', 'x'],
  ].flatMap(([key = '', value = '']): readonly Attempt[] => [
    create(`${key} at creation`, { config: { [key]: value } }, [403, `config.${key} `]),
  ]),
  // Addresses.
  [
    'the address of the victim',
    'PATCH',
    `/1.0/containers/own${own}`,
    { devices: { d: { type: 'nic', network: 'lan', 'ipv4.address': '10.9.8.77' } } },
    [400, 'a container of another project on network lan has it'],
  ],
  ...[{ 'ipv4.address': '10.9.8.77' }, { hwaddr: '00:16:3E:11:22:33' }].map((address) =>
    device(`the ${Object.keys(address)[0]} of the victim`, { type: 'nic', network: 'lan', ...address }, [
      400,
      'a container of another project on network lan has it',
    ]),
  ),
  create(
    'the hardware address of the victim, as the server would keep it',
    { config: { 'volatile.d.hwaddr': '00:16:3e:11:22:33' }, devices: { d: { type: 'nic', network: 'lan' } } },
    [400, 'a container of another project on network lan has it'],
  ),
  [
    'the address of the victim, by a profile of its own container',
    'PATCH',
    `/1.0/profiles/default${own}`,
    { devices: { d: { type: 'nic', network: 'lan', 'ipv4.address': '10.9.8.77' } } },
    [400, 'a container of another project on network lan has it'],
  ],
  // Volumes.
  ...['vol', 'theirs%25vol', 'mine%25..%25vol'].flatMap((name): readonly Attempt[] => [
    [`the volume ${name}`, 'GET', `${volume}/${name}${own}`, undefined, [404, 'not found']],
    [`a larger ${name}`, 'PATCH', `${volume}/${name}${own}`, { description: 'x' }, [404, 'not found']],
    [`the end of ${name}`, 'DELETE', `${volume}/${name}${own}`, undefined, [404, 'not found']],
    [`snapshots of ${name}`, 'GET', `${volume}/${name}/snapshots${own}`, undefined, [404, 'not found']],
    [`a rename of ${name}`, 'POST', `${volume}/${name}${own}`, { name: 'x' }, [404, 'not found']],
  ]),
  [
    'a copy of vol',
    'POST',
    `${volume}${own}`,
    { name: 'x', source: { type: 'copy', pool: 'default', name: 'vol' } },
    [404, 'not found'],
  ],
  [
    'a copy of theirs%vol',
    'POST',
    `${volume}${own}`,
    { name: 'x', source: { type: 'copy', pool: 'default', name: 'theirs%vol' } },
    [404, 'not found'],
  ],
  [
    'a copy of vol from its project',
    'POST',
    `${volume}${own}`,
    { name: 'x', source: { type: 'copy', pool: 'default', name: 'vol', project: 'theirs' } },
    [404, 'The project theirs was not found'],
  ],
  [
    'data moved to theirs',
    'POST',
    `${volume}/data${own}`,
    { name: 'data', pool: 'default', project: 'theirs' },
    [404, 'The project theirs was not found'],
  ],
  [
    'the volume of the victim',
    'GET',
    `/1.0/storage-pools/default/volumes/container/victim${own}`,
    undefined,
    [404, 'not found'],
  ],
  [
    'the volume of the victim, written',
    'PUT',
    `/1.0/storage-pools/default/volumes/container/victim${own}`,
    { config: { 'user.x': '1' } },
    [404, 'not found'],
  ],
  [
    'the volume of a snapshot of theirs%victim',
    'GET',
    `/1.0/storage-pools/default/volumes/container/theirs%25victim/snap0${own}`,
    undefined,
    [404, 'not found'],
  ],
  [
    'the volume of a snapshot of the victim, in one segment',
    'PATCH',
    `/1.0/storage-pools/default/volumes/container/victim%2Fsnap0${own}`,
    { description: 'x' },
    [404, 'not found'],
  ],
  [
    'the image as a volume',
    'GET',
    `/1.0/storage-pools/default/volumes/image/FINGERPRINT${own}`,
    undefined,
    [404, 'not found'],
  ],
  // What all share.
  ['the project of others', 'GET', '/1.0/projects/theirs', undefined, [404, 'The project theirs was not found']],
  ['the use of others', 'GET', '/1.0/projects/theirs/state', undefined, [404, 'The project theirs was not found']],
  ['the project default', 'GET', '/1.0/projects/default', undefined, [404, 'The project default was not found']],
  [
    'a project that is not there',
    'GET',
    '/1.0/projects/nowhere',
    undefined,
    [404, 'The project nowhere was not found'],
  ],
  ['the certificate of others', 'GET', '/1.0/certificates/OTHERCERT', undefined, [404, 'was not found']],
  ['a network of others', 'GET', '/1.0/networks/secretnet', undefined, [404, 'The network secretnet was not found']],
  [
    'leases of a network of others',
    'GET',
    '/1.0/networks/secretnet/leases',
    undefined,
    [404, 'The network secretnet was not found'],
  ],
  ['an interface of the host', 'GET', '/1.0/networks/lo', undefined, [404, 'The network lo was not found']],
  [
    'an operation of others',
    'GET',
    '/1.0/operations/00000000-0000-4000-8000-000000000000',
    undefined,
    [404, 'The operation 00000000-0000-4000-8000-000000000000 was not found'],
  ],
];

describe('in its own project', () => {
  test.each(attempts)('a tenant does not get %s', (...attempt) => meets(attempt));
  expectUnchanged();
});

test('a tenant cannot choose the keys that the server keeps of a container', async () => {
  const path = `/1.0/containers/own${own}`;
  const then = (await host.tenant('GET', path)).metadata.config;
  const keys = ['volatile.idmap.next', 'volatile.idmap.base', 'volatile.last_state.idmap', 'volatile.uuid'];
  for (const key of keys) await host.tenant('PATCH', path, { config: { [key]: '[]' } });
  expect((await host.tenant('GET', path)).metadata.config).toEqual(then);
});
