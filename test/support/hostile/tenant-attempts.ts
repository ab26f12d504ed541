// A table of attacks from a tenant's hostile repository: the manifests, and the tenant rule that refuses them.
export interface Attempt {
  readonly what: string;
  /** Empty: refused for every source, with or without a tenant. */
  readonly rule: string;
  readonly text: string;
  /** gantry.lock beside it. */
  readonly lock?: string;
}

type Value = unknown;
const yaml = (value: Value): string => JSON.stringify(value);
const document = (kind: string, name: string, more: Readonly<Record<string, Value>> = {}): string =>
  yaml({ kind, name, ...more });
const container = (more: Readonly<Record<string, Value>> = {}): string =>
  document('container', 'shop-c', { profiles: ['shop-p'], source: { type: 'none' }, ...more });
const profile = (more: Readonly<Record<string, Value>>): string => document('profile', 'shop-p', more);

/** Each in a container and in a profile. */
const inBoth = (rule: string, what: string, more: Readonly<Record<string, Value>>): readonly Attempt[] => [
  { what: `${what} in a container`, rule, text: container(more) },
  { what: `${what} in a profile`, rule, text: profile(more) },
];

const keys: readonly (readonly [rule: string, key: string, value: Value])[] = [
  ['restrictions', 'security.privileged', true],
  ['restrictions', 'security.privileged', 'True'],
  ['restrictions', 'security.privileged', 'on'],
  ['restrictions', 'security.privileged', 1],
  ['restrictions', 'security.nesting', true],
  ['restrictions', 'security.nesting', 'yes'],
  ['restrictions', 'raw.lxc', 'lxc.mount.entry = /etc etc none bind 0 0'],
  ['restrictions', 'raw.apparmor', 'mount,'],
  ['restrictions', 'raw.seccomp', '2\ndenylist'],
  ['restrictions', 'raw.idmap', 'both 0 0'],
  ['restrictions', 'raw.idmap', 'uid 1000 1000'],
  ['restrictions', 'linux.kernel_modules', 'overlay'],
  ['restrictions', 'security.idmap.base', '0'],
  ['restrictions', 'security.idmap.size', '65536'],
  ['restrictions', 'security.devlxd.images', true],
  ['restrictions', 'boot.host_shutdown_timeout', '3600'],
  ['restrictions', 'security.syscalls.intercept.mknod', true],
  ['restrictions', 'security.syscalls.intercept.mount', true],
  ['restrictions', 'security.syscalls.intercept.setxattr', true],
  ['restrictions', 'security.syscalls.intercept.mount.allowed', 'ext4'],
  ['keys', 'security.syscalls.deny_default', false],
  ['keys', 'security.syscalls.deny_compat', false],
  ['keys', 'security.syscalls.allow', 'mount'],
  ['keys', 'security.syscalls.blacklist_default', false],
  ['', 'user.gantry.own.base', '{}'],
  ['', 'user.gantry.own.web', 'x'],
  ['', 'user.gantry.state.base', 'x'],
  ['keys', 'limits.cpu.priority', '10'],
];

const devices: readonly (readonly [rule: string, what: string, device: Value])[] = [
  ['restrictions', 'the root of the host', { type: 'disk', source: '/', path: '/mnt' }],
  ['restrictions', 'a folder of the host', { type: 'disk', source: '/etc', path: '/mnt', readonly: true }],
  ['restrictions', 'the socket of the server', { type: 'disk', source: '/var/lib/lxd/unix.socket', path: '/s' }],
  ['', 'a path with .. of the host', { type: 'disk', source: '/srv/../etc', path: '/mnt' }],
  ['restrictions', 'a disk of the host', { type: 'disk', source: '/dev/sda1', path: '/mnt' }],
  ['restrictions', 'a character device', { type: 'unix-char', path: '/dev/mem' }],
  ['restrictions', 'a block device', { type: 'unix-block', path: '/dev/sda' }],
  ['restrictions', 'a usb device', { type: 'usb', vendorid: '1d6b' }],
  ['restrictions', 'a gpu', { type: 'gpu' }],
  ['restrictions', 'an infiniband device', { type: 'infiniband', nictype: 'physical', parent: 'ib0' }],
  ['restrictions', 'a proxy', { type: 'proxy', listen: 'tcp:0.0.0.0:22', connect: 'tcp:127.0.0.1:22' }],
  [
    'restrictions',
    'a proxy to a socket',
    { type: 'proxy', listen: 'unix:/s', connect: 'unix:/run/docker.sock', bind: 'container' },
  ],
  ['restrictions', 'an interface of the host', { type: 'nic', nictype: 'physical', parent: 'eth0' }],
  ['restrictions', 'a macvlan', { type: 'nic', nictype: 'macvlan', parent: 'eth0' }],
  ['restrictions', 'a bridge by its name', { type: 'nic', nictype: 'bridged', parent: 'lxdbr0' }],
  ['restrictions', 'routes on the host', { type: 'nic', network: 'lxdbr0', 'ipv4.routes': '10.9.0.0/16' }],
  ['restrictions', 'a name on the host', { type: 'nic', network: 'lxdbr0', host_name: 'eth9' }],
  ['restrictions', 'no filter of addresses', { type: 'nic', network: 'lxdbr0', 'security.mac_filtering': false }],
  ['uses', 'a network of others', { type: 'nic', network: 'corp' }],
  ['uses', 'a pool of others', { type: 'disk', path: '/', pool: 'fast' }],
  ['uses', 'a volume of others', { type: 'disk', path: '/data', pool: 'default', source: 'payroll' }],
  ['uses', 'a volume of others in another pool', { type: 'disk', path: '/data', pool: 'fast', source: 'shop-data' }],
];

const kinds: readonly Attempt[] = (
  [
    ['server_config', 'server', { config: { 'user.note': 'x' } }],
    ['server_config', 'server', { config: { 'core.https_address': '0.0.0.0:8443' } }],
    ['project', 'shop', { config: { restricted: 'false' } }],
    ['project', 'shop-x', {}],
    ['storage_pool', 'shop-pool', { driver: 'dir', config: { source: '/etc' } }],
    ['storage_pool', 'default', { driver: 'dir' }],
  ] as const
).map(([kind, name, more], at) => ({
  what: `${kind} ${name} (${at})`,
  rule: 'kinds',
  text: document(kind, name, more),
}));

const foreign = ['payroll-db', 'shop', 'Shop-c', 'xshop-c', 'shopc', 'other-shop-c', 'web1', 'base'];
const names: readonly Attempt[] = foreign.flatMap((name) => [
  {
    what: `container ${name}`,
    rule: 'names',
    text: document('container', name, { profiles: ['shop-p'], source: { type: 'none' } }),
  },
  { what: `profile ${name}`, rule: 'names', text: document('profile', name) },
  { what: `image alias ${name}`, rule: 'names', text: document('image_alias', name, { target: 'shop-i' }) },
  {
    what: `network ${name.slice(0, 9)}`,
    rule: 'names',
    text: document('network', name.slice(0, 9).replace(/^shop-$/, 'nets')),
  },
  { what: `volume ${name}`, rule: 'names', text: yaml({ kind: 'storage_volume', pool: 'default', name }) },
]);

const sources: readonly (readonly [rule: string, what: string, source: Value])[] = [
  ['uses', 'a copy of a container of others', { type: 'copy', source: 'payroll-db' }],
  ['projects', 'a copy from another project', { type: 'copy', source: 'shop-c', project: 'payroll' }],
  ['uses', 'an alias of others', { type: 'image', alias: 'payroll-image' }],
  ['uses', 'an image of others by fingerprint', { type: 'image', fingerprint: 'a'.repeat(64) }],
  ['images', 'an image by its properties', { type: 'image', properties: { os: 'debian' } }],
  ['images', 'another image server', { type: 'image', alias: 'x', server: 'https://evil.example' }],
  ['images', 'an image server of the network', { type: 'image', alias: 'x', server: 'https://10.0.0.1:8443' }],
  ['images', 'a longer name of an image server', { type: 'image', alias: 'x', server: 'https://images.example.evil' }],
  [
    'images',
    'an image server before an @',
    { type: 'image', alias: 'x', server: 'https://images.example@evil.example' },
  ],
  ['images', 'an image server without TLS', { type: 'image', alias: 'x', server: 'http://images.example' }],
  ['images', 'another port', { type: 'image', alias: 'x', server: 'https://images.example:444' }],
  ['images', 'another folder', { type: 'image', alias: 'x', server: 'https://images.example/other' }],
];

const url = (address: string): string => yaml({ kind: 'image', name: 'shop-i', source: { type: 'url', url: address } });
const images: readonly Attempt[] = [
  'https://evil.example/a.tar.gz',
  'http://169.254.169.254/latest/meta-data',
  'https://images.example.evil/debian/a',
  'https://images.example@evil.example/a',
  'https://files.example/team/../other/a',
  'https://files.example/team/%2e%2e/other/a',
  'https://files.example/team%2f..%2fother/a',
  'https://files.example/teams/a',
].map((address) => ({ what: `an image from ${address}`, rule: 'images', text: url(address) }));

const networkKeys: readonly (readonly [string, Value])[] = [
  ['raw.dnsmasq', 'addn-hosts=/etc/shadow'],
  ['bridge.external_interfaces', 'eth0'],
  ['bridge.hwaddr', '00:16:3e:00:00:01'],
  ['bridge.driver', 'openvswitch'],
  ['bridge.mode', 'fan'],
  ['ipv4.address', '192.168.1.1/24'],
  ['ipv4.firewall', false],
  ['ipv4.routes', '10.0.0.0/8'],
  ['ipv4.routing', true],
  ['ipv4.nat.address', '10.0.0.1'],
  ['ipv4.dhcp.gateway', '10.0.0.1'],
  ['ipv6.address', 'fd42::1/64'],
  ['ipv6.firewall', false],
  ['tunnel.a.protocol', 'vxlan'],
];
const volumeKeys: readonly (readonly [string, Value])[] = [
  ['security.unmapped', true],
  ['block.mount_options', 'suid'],
  ['zfs.use_refquota', true],
  ['zfs.block_mode', true],
  ['block.filesystem', 'xfs'],
];

/** Refused for everyone, in profiles too. */
const state: readonly Attempt[] = ['volatile.idmap.base', 'volatile.last_state.idmap', 'volatile.eth0.host_name'].map(
  (key) => ({ what: `${key} in a container`, rule: '', text: container({ config: { [key]: '0' } }) }),
);

const others: readonly Attempt[] = [
  { what: 'the profile of others', rule: 'uses', text: container({ profiles: ['admin'] }) },
  { what: 'a profile of others behind its own', rule: 'uses', text: container({ profiles: ['shop-p', 'payroll'] }) },
  {
    what: 'the profile default by leaving profiles out',
    rule: 'uses',
    text: yaml({ kind: 'container', name: 'shop-c', source: { type: 'none' } }),
  },
  { what: 'a profile of another project', rule: 'uses', text: container({ profiles: ['shop-p@payroll'] }) },
  { what: 'another project', rule: 'projects', text: container({ project: 'payroll' }) },
  { what: 'another project for a profile', rule: 'projects', text: profile({ project: 'payroll' }) },
  {
    what: 'an alias on an image of others',
    rule: 'uses',
    text: document('image_alias', 'shop-a', { target: 'b'.repeat(64) }),
  },
  {
    what: 'an alias of others beside an image',
    rule: 'names',
    text: yaml({
      kind: 'image',
      name: 'shop-i',
      source: { type: 'image', server: 'https://images.example', alias: 'debian' },
      aliases: ['payroll-image'],
    }),
  },
  {
    what: 'a volume in the pool of others',
    rule: 'uses',
    text: yaml({ kind: 'storage_volume', pool: 'fast', name: 'shop-v' }),
  },
  {
    what: 'a copy of a volume of others',
    rule: 'uses',
    text: yaml({ kind: 'storage_volume', pool: 'default', name: 'shop-v', source: { type: 'copy', name: 'payroll' } }),
  },
  {
    what: 'a copy of a volume of another pool',
    rule: 'uses',
    text: yaml({
      kind: 'storage_volume',
      pool: 'default',
      name: 'shop-v',
      source: { type: 'copy', pool: 'fast', name: 'shop-v' },
    }),
  },
  {
    what: 'a wait for a port of the network',
    rule: 'waits',
    text: container({ manage: { wait: [{ tcp: '10.0.0.1:22' }] } }),
  },
  {
    what: 'a wait for a port of the controller',
    rule: 'waits',
    text: container({ manage: { wait: [{ tcp: '127.0.0.1:8440' }] } }),
  },
  { what: 'a wait for a port of IPv6', rule: 'waits', text: container({ manage: { wait: [{ tcp: '[::1]:22' }] } }) },
  {
    what: 'a dependency on objects of others',
    rule: 'uses',
    text: container({ manage: { depends_on: ['container/payroll-db'] } }),
  },
  {
    what: 'commands, which keys.deny rules out',
    rule: 'keys',
    text: container({ exec: [{ name: 'go', command: ['id'] }] }),
  },
  {
    what: 'a pinned image of others',
    rule: 'uses',
    text: container({ source: { type: 'image', alias: 'debian-12' }, manage: { image: 'rebuild' } }),
    lock: `version: 1\nimages:\n  debian-12: ${'c'.repeat(64)}\n`,
  },
  {
    what: 'a hostile document behind a good one',
    rule: 'names',
    text: `${profile({})}\n---\n${document('profile', 'evil')}`,
  },
  {
    what: 'a variable that becomes a name of others',
    rule: 'names',
    text: `${yaml({ kind: 'vars', vars: { WHO: 'payroll' } })}\n---\nkind: profile\nname: "\${WHO}-db"`,
  },
  {
    what: 'a variable that becomes true',
    rule: 'restrictions',
    text: `${yaml({ kind: 'vars', vars: { YES: 'true' } })}\n---\nkind: profile\nname: shop-p\nconfig: { security.privileged: "\${YES}" }`,
  },
  {
    what: 'an anchor that carries a key',
    rule: 'restrictions',
    text: 'kind: profile\nname: shop-p\nconfig: &a { security.privileged: "true" }\n---\nkind: profile\nname: shop-q\nconfig: { security.nesting: "true" }',
  },
];

export const attempts: readonly Attempt[] = [
  ...keys.flatMap(([rule, key, value]) => inBoth(rule, `${key}: ${String(value)}`, { config: { [key]: value } })),
  ...devices.flatMap(([rule, what, device]) => inBoth(rule, what, { devices: { d: device } })),
  ...kinds,
  ...names,
  ...sources.map(([rule, what, source]) => ({ what, rule, text: container({ source }) })),
  ...images,
  ...networkKeys.map(([key, value]) => ({
    what: `${key} of a network`,
    rule: 'keys',
    text: document('network', 'shop-n', { config: { [key]: value } }),
  })),
  ...volumeKeys.map(([key, value]) => ({
    what: `${key} of a volume`,
    rule: 'keys',
    text: yaml({ kind: 'storage_volume', pool: 'default', name: 'shop-v', config: { [key]: value } }),
  })),
  ...state,
  ...others,
];
