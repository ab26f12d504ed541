// JSON bodies that cost a careless server much time: deep, wide, long, or made for the regular expressions of value checks.

const mib = 1024 * 1024;
const repeated = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));
const members = (count: number, member: (index: number) => string): string =>
  Array.from({ length: count }, (_none, index) => member(index)).join(',');

/** Names and values at the limits of a body. */
const allowed = 2_450;

/** For any endpoint. Each is just within the limits of a body. */
export const anyBodies: Readonly<Record<string, string>> = {
  'lists in lists': `${'['.repeat(mib / 2 - 1)}${']'.repeat(mib / 2 - 1)}`,
  'objects in objects': `${'{"a":'.repeat(170_000)}1${'}'.repeat(170_000)}`,
  'lists in an object in lists': `${'[{"config":'.repeat(80_000)}1${'}]'.repeat(80_000)}`,
  '70,000 members': `{${members(70_000, (index) => `"k${index}":1`)}}`,
  '500,000 numbers': `[${repeated('1,', mib - 10)}1]`,
  'one long text': `"${repeated('x', mib - 10)}"`,
  'one text of escapes': `{"name":"${repeated('\\u0041', mib - 20)}"}`,
  'an unclosed text': `{"name":"${repeated('\\"', mib - 20)}`,
  'many quotes': repeated('"",', mib),
  'a long number': `{"name":${repeated('9', mib - 20)}}`,
  'a name of a megabyte': `{"${repeated('k', mib - 20)}":1}`,
  '65,000 hidden names': `{"\\u005f":{${members(65_000, (index) => `"k${index}":{}`)}}}`,
};

const configOf = (text: string): string => `{"name":"h","source":{"type":"none"},"config":${text}}`;
const devicesOf = (text: string): string => `{"name":"h","source":{"type":"none"},"devices":${text}}`;
const keyOf = (key: string, value: string): string => configOf(JSON.stringify({ [key]: value }));
const half = 500_000;

/** For endpoints with config and devices. */
export const configBodies: Readonly<Record<string, string>> = {
  '50,000 unknown keys': configOf(`{${members(50_000, (index) => `"limits.c${index}":"1"`)}}`),
  '15,000 nearly known keys': configOf(`{${members(15_000, (index) => `"limits.memory.enforcf${index}":"1"`)}}`),
  'unknown keys, as many as allowed': configOf(`{${members(allowed, (index) => `"limits.c${index}":"1"`)}}`),
  'nearly known keys, as many as allowed': configOf(
    `{${members(allowed, (index) => `"limits.memory.enforcf${index}":"1"`)}}`,
  ),
  'user keys, as many as allowed': configOf(`{${members(allowed, (index) => `"user.k${index}":"${index}"`)}}`),
  'hidden names, as many as allowed': configOf(`{${members(allowed, (index) => `"user.\\u0041${index}":"1"`)}}`),
  'empty devices, as many as allowed': devicesOf(`{${members(allowed / 2, (index) => `"d${index}":{}`)}}`),
  'disks, as many as allowed': devicesOf(
    `{${members(allowed / 4, (index) => `"d${index}":{"type":"disk","path":"/${index}","source":"/"}`)}}`,
  ),
  'proxies, as many as allowed': devicesOf(
    `{${members(allowed / 4, (index) => `"d${index}":{"type":"proxy","listen":"tcp:0.0.0.0:1-9000","connect":"tcp:1.2.3.4:1"}`)}}`,
  ),
  'nics, as many as allowed': devicesOf(
    `{${members(allowed / 4, (index) => `"d${index}":{"type":"nic","nictype":"p2p","name":"e${index}"}`)}}`,
  ),
  'profiles, as many as allowed': `{"name":"h","source":{"type":"none"},"profiles":[${members(2 * allowed - 50, (index) => `"p${index}"`)}]}`,
  '30,000 user keys': configOf(`{${members(30_000, (index) => `"user.k${index}":"1"`)}}`),
  '20,000 wrong devices': devicesOf(`{${members(20_000, (index) => `"d${index}":{"type":"nicc"}`)}}`),
  '15,000 disks': devicesOf(`{${members(15_000, (index) => `"d${index}":{"type":"disk","path":"/${index}"}`)}}`),
  'one device with 50,000 properties': devicesOf(
    `{"d":{"type":"nic",${members(50_000, (index) => `"p${index}":"1"`)}}}`,
  ),
  '100,000 profiles': `{"name":"h","source":{"type":"none"},"profiles":[${members(100_000, (index) => `"p${index}"`)}]}`,
  'limits.cpu of a long list': keyOf('limits.cpu', repeated('0,', half)),
  'limits.cpu of long numbers': keyOf('limits.cpu', repeated('9', half)),
  'limits.memory of digits': keyOf('limits.memory', repeated('1', half)),
  'raw.idmap of many lines': keyOf('raw.idmap', repeated('both 1 1\n', half)),
  'raw.lxc of many lines': keyOf('raw.lxc', repeated('lxc.a=b\n', half)),
  'raw.lxc of spaces': keyOf('raw.lxc', `lxc.a${repeated(' ', half)}x`),
  'snapshots.schedule of many fields': keyOf('snapshots.schedule', repeated('* ', half)),
  'snapshots.schedule of many steps': keyOf('snapshots.schedule', `${repeated('0-59/1,', half)}1 * * * *`),
  'snapshots.pattern of many braces': keyOf('snapshots.pattern', repeated('{{ creation_date ', half)),
  'snapshots.expiry of many parts': keyOf('snapshots.expiry', repeated('1d ', half)),
  'linux.kernel_modules of many': keyOf('linux.kernel_modules', repeated('a,', half)),
  'security.syscalls.blacklist of many': keyOf('security.syscalls.blacklist', repeated('read\n', half)),
  'a nic address of colons': devicesOf(
    JSON.stringify({ d: { type: 'nic', nictype: 'bridged', parent: 'x', hwaddr: repeated('00:', half) } }),
  ),
  'a proxy of many ports': devicesOf(
    JSON.stringify({ d: { type: 'proxy', listen: `tcp:0.0.0.0:${repeated('1,', half)}2`, connect: 'tcp:1:1-65535' } }),
  ),
  'a disk path of slashes': devicesOf(JSON.stringify({ d: { type: 'disk', path: repeated('/a', half), source: '/' } })),
  'a disk path of dots': devicesOf(
    JSON.stringify({ d: { type: 'disk', path: repeated('/../', half), source: repeated('/..', half / 2) } }),
  ),
  'an address of colons': devicesOf(
    JSON.stringify({ d: { type: 'nic', nictype: 'bridged', parent: 'x', 'ipv6.address': repeated(':', half) } }),
  ),
};
