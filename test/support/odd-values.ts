// Unusual but valid values: sizes in all units, booleans in all forms, long addresses, texts with white space and line ends. Made from
// the tables that validate manifests, so that new keys are covered automatically.
import { parse } from 'yaml';
import { containerConfigKeys, type ConfigKey } from '../../server/api/container/container-config-keys.ts';
import { deviceSchemas, validateDevices, type DeviceConfig } from '../../server/api/devices/index.ts';

/** As written in YAML: flow scalars. */
const booleans = [
  'true',
  '"TRUE"',
  'True',
  '1',
  '"1"',
  'yes',
  '"Yes"',
  'on',
  'ON',
  'false',
  '"FALSE"',
  '0',
  'no',
  'off',
];
const sizes = [
  '1048576',
  '"1048576B"',
  '"1048576 bytes"',
  '1000kB',
  '2MB',
  '1GB',
  '1024KiB',
  '64MiB',
  '1GiB',
  '007MiB',
];
const integers = ['1', '"3"', '007', '"+5"', '5'];
const texts = [
  'plain',
  '" spaces around "',
  '"tab\\there"',
  'ünïcode 漢字 🚢',
  '"a,b, c"',
  '1.50',
  '1e3',
  '0x10',
  '~x',
  '"#no comment"',
];
const lines = ['"a\\nb\\n"', '"a\\n\\n\\n"', '"\\na"', '"# only\\n"', '"a\\r\\nb"'];
/** Removes the key. */
const absent = ['null', '""', '~'];

const more = [
  '"00:16:3E:AA:BB:0C" 10.4.5.6 "fd42:0000::0AAA:1" "FD42::9" 0-1 "0,1" 50% 25ms/100ms 100Mbit 30MB 500iops "100:200" unlimited',
  'hard soft stop "@daily" "s%d" /a//b/ /tmp/ "tcp:127.0.0.1:80" "tcp:[0:0::1]:8080" "udp:127.0.0.1:80-82" 0660 0777 046D "0x046d"',
  'host container private rslave eth9 lo 1450 65536 compute,utility ip_tables noatime nodev,noexec',
].flatMap((words) => words.split(' '));
const spaced = ['"noexec, nodev,noatime"', '1w 2d', '"0 3 * * *"', 'both 1000 1000', '"lxc.environment = A=b"'];

const candidates = [...booleans, ...sizes, ...integers, ...texts, ...lines, ...absent, ...more, ...spaced];

/** The meaning of the text after parsing as YAML; enough for the values above. */
function read(text: string): string {
  if (absent.includes(text)) return '';
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

const isFine = (check: (value: string) => string | undefined, text: string): boolean =>
  read(text) === '' || check(read(text)) === undefined;

/** Parts for the `*` of patterns. */
const parts: Readonly<Record<string, string>> = {
  'environment.*': 'environment.ODD',
  'limits.hugepages.*': 'limits.hugepages.2MB',
  'limits.kernel.*': 'limits.kernel.nofile',
  'linux.sysctl.*': 'linux.sysctl.net.ipv4.ip_forward',
  'user.*': 'user.odd',
};

export interface OddValue {
  /** `limits.memory`, or `TYPE.property` of a device. */
  readonly key: string;
  readonly text: string;
}

const isOneLine = (text: string): boolean => !/[\r\n]/.test(read(text));

/** All of them; or three, different ones for each key, in a deterministic order. */
function someOf(all: readonly string[], key: string, isThorough: boolean): readonly string[] {
  const start = Buffer.from(key).reduce((sum, byte) => (sum * 31 + byte) % 9973, 7);
  if (isThorough || all.length <= 3) return all;
  return [0, 1, 2].map((turn) => all[(start + Math.floor((turn * all.length) / 3)) % all.length] ?? '');
}

const isThorough = process.env['PROPERTY_RUNS'] !== undefined;

/** Every key of a profile, with valid candidates: all of them when PROPERTY_RUNS is set. */
export const oddConfig = (): readonly OddValue[] =>
  Object.entries(containerConfigKeys as Readonly<Record<string, ConfigKey>>).flatMap(([name, row]) => {
    const key = name.includes('*') ? parts[name] : name;
    if (key === undefined || row.profile === false || row.computed === true) return [];
    const fit = candidates.filter((text) => (row.type === 'lines' || isOneLine(text)) && isFine(row.check, text));
    return someOf(fit, key, isThorough).map((text) => ({ key, text }));
  });

const bases: Readonly<Record<string, string>> = {
  nic: 'nictype: bridged, parent: NETWORK',
  disk: 'source: /tmp, path: /odd',
  proxy: 'listen: "tcp:127.0.0.1:8081", connect: "tcp:127.0.0.1:81"',
  'unix-char': 'path: /dev/null',
  usb: 'vendorid: 046d',
  gpu: '',
};

/** What a property needs beside it: the network of the tests gives out no IPv6 addresses. */
const beside: Readonly<Record<string, string>> = { 'nic.ipv6.address': 'security.ipv6_filtering: "true"' };

/** Some values are legal by themselves and not with this device: options of a file system without a block device. */
const isFineIn = (device: string, name: string, value: string): boolean =>
  validateDevices({ odd: { ...(parse(`{ ${device} }`) as DeviceConfig), [name]: value } }).length === 0;

/** Every property of devices that is valid with few others; the whole device as YAML. */
export const oddDevices = (): readonly (OddValue & { readonly device: string })[] =>
  Object.entries(bases).flatMap(([type, base]) => {
    const { properties } = deviceSchemas[type as keyof typeof deviceSchemas];
    return Object.entries(properties).flatMap(([name, row]) => {
      if (new RegExp(`(^|, )${name}:`).test(base) || needsMore.has(name)) return [];
      const device = [`type: ${type}`, base, beside[`${type}.${name}`] ?? ''].filter(Boolean).join(', ');
      const fit = candidates.filter(
        (text) => isOneLine(text) && isFine(row.check, text) && isFineIn(device, name, read(text)),
      );
      return someOf(fit, name, isThorough).map((text) => ({
        key: `${type}.${name}`,
        text,
        device: `{ ${device}, ${name}: ${text} }`,
      }));
    });
  });

/** They require certain other properties, or an address of the network. */
const needsMore = new Set([
  'ipv4.address',
  'network',
  'nictype',
  'pool',
  'size',
  'vlan',
  'uid',
  'gid',
  'mode',
  'limits.max',
  'source',
]);
