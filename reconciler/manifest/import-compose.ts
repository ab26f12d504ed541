// Converts a compose file into documents for system containers; lists parts that cannot be converted, with their lines. Pure.
import { resolve } from 'node:path/posix';
import { isMap as isYamlMap, LineCounter, parseDocument, type Document as YamlDocument } from 'yaml';
import type { Json, JsonObject } from '../core/documents/document.ts';
import { asText, isMap, mapOf, textsOf } from '../core/documents/json-values.ts';

export interface ImportNote {
  readonly line: number;
  readonly text: string;
}

export interface Imported {
  readonly documents: readonly JsonObject[];
  /** Parts that were not converted, each with a remedy. */
  readonly notes: readonly ImportNote[];
  /** Problems that prevent the conversion. */
  readonly errors: readonly ImportNote[];
}

/** `folder`: where the file is; relative paths in it begin there. */
export function importCompose(text: string, folder: string): Imported {
  const lines = new LineCounter();
  const yaml = parseDocument(text, { lineCounter: lines, merge: true });
  const failed = (errors: readonly ImportNote[]): Imported => ({ documents: [], notes: [], errors });
  const broken = yaml.errors.map(({ pos: [at], message }) => ({
    line: lines.linePos(at).line,
    text: message.split(' at line ')[0] ?? message,
  }));
  if (broken.length > 0) return failed(broken);
  const root = yaml.toJS({ maxAliasCount: 100 }) as Json;
  const services = mapOf(mapOf(root)['services']);
  if (Object.keys(services).length === 0)
    return failed([{ line: 1, text: 'has no services: a compose file lists them under services' }]);
  const lineAt = (path: readonly string[]): number => lineOf(yaml, lines, path);
  const file: File = { folder, root: mapOf(root), lineAt, notes: [], volumes: new Set() };
  const bad = Object.entries(services).filter(([, service]) => !isMap(service));
  if (bad.length > 0)
    return failed(bad.map(([name]) => ({ line: lineAt(['services', name]), text: `services.${name} must be a map` })));
  for (const name of shellVariables(text))
    file.notes.push({
      line: 1,
      text: `${name} is a variable of the shell: declare it with kind: vars, or it stays as it is written`,
    });
  const containers = Object.entries(services).map(([name, service]) => containerOf(file, name, mapOf(service)));
  const networks = Object.keys(mapOf(file.root['networks'])).map((name) => ({
    kind: 'network',
    name: bridgeName(name),
  }));
  const volumes = [...file.volumes].map((name) => ({ kind: 'storage_volume', name: plainName(name), pool: 'default' }));
  for (const key of ['secrets', 'configs'])
    if (file.root[key] !== undefined)
      note(file, [key], `${key} do not move: write them as files of the containers (files:)`);
  return { documents: [...networks, ...volumes, ...containers], notes: file.notes, errors: [] };
}

/** `$$` is a dollar in both formats. */
const shellVariables = (text: string): readonly string[] => [
  ...new Set([...text.replaceAll('$$', '').matchAll(/\$\{?([A-Za-z_][A-Za-z0-9_]*)/g)].map(([, name = '']) => name)),
];

interface File {
  readonly folder: string;
  readonly root: JsonObject;
  readonly lineAt: (path: readonly string[]) => number;
  readonly notes: ImportNote[];
  readonly volumes: Set<string>;
}

const note = (file: File, path: readonly string[], text: string): void =>
  void file.notes.push({ line: file.lineAt(path), text });

function lineOf(yaml: YamlDocument, lines: LineCounter, path: readonly string[]): number {
  const above = path.length === 1 ? yaml.contents : yaml.getIn(path.slice(0, -1), true);
  const pair = isYamlMap(above) ? above.items.find(({ key }) => String(key) === path.at(-1)) : undefined;
  const at = (pair?.key as { readonly range?: readonly number[] } | undefined)?.range?.[0];
  return at === undefined ? 1 : lines.linePos(at).line;
}

/** Container names must be host names. */
const plainName = (name: string): string => name.replaceAll(/[^A-Za-z0-9-]/g, '-').replace(/^[^A-Za-z]/, 'c');
/** Interface names have max 15 characters. */
const bridgeName = (name: string): string => plainName(name).slice(0, 15);

/** Keys that are converted below, or that have no meaning here. */
const carried = new Set(
  'image container_name environment ports volumes mem_limit cpus pids_limit privileged restart depends_on networks deploy expose stdin_open tty init platform pull_policy'.split(
    ' ',
  ),
);
const remedies: Readonly<Record<string, string>> = {
  build: 'a system image is not built from a Dockerfile: install the service in the container (exec:, or cloud-init)',
  command: 'a container runs its own init: make a service of it (files: and exec:)',
  entrypoint: 'a container runs its own init: make a service of it (files: and exec:)',
  env_file: 'write its variables as environment.NAME under config',
  healthcheck: 'say when it is ready with manage.wait',
  labels: 'write them as labels:',
  secrets: 'write them as files of the container (files:)',
  configs: 'write them as files of the container (files:)',
};

function containerOf(file: File, service: string, values: JsonObject): JsonObject {
  const path = ['services', service];
  for (const key of Object.keys(values))
    if (!carried.has(key) && !key.startsWith('x-'))
      note(
        file,
        [...path, key],
        `services.${service}.${key} does not move: ${remedies[key] ?? 'there is nothing like it'}`,
      );
  noteParts(file, service, values);
  const devices = { ...portsOf(file, service, values), ...mountsOf(file, service, values), ...nicsOf(values) };
  const config = configOf(file, service, values);
  const needs = isMap(values['depends_on']) ? Object.keys(values['depends_on']) : textsOf(values['depends_on']);
  const services = mapOf(file.root['services']);
  for (const need of needs)
    if (!Object.hasOwn(services, need))
      note(
        file,
        [...path, 'depends_on'],
        `services.${service}.depends_on does not move for ${need}: the file has no such service`,
      );
  const addresses = needs
    .filter((need) => Object.hasOwn(services, need))
    .map((need) => `container/${nameOf(need, mapOf(services[need]))}`);
  return {
    kind: 'container',
    name: nameOf(service, values),
    source: sourceOf(file, service, asText(values['image'])),
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(Object.keys(devices).length === 0 ? {} : { devices }),
    ...(addresses.length === 0 ? {} : { manage: { depends_on: addresses } }),
  };
}

/** Parts of keys of which only some are converted. */
function noteParts(file: File, service: string, values: JsonObject): void {
  const lost = (path: readonly string[], remedy: string): void =>
    note(file, ['services', service, ...path], `services.${service}.${path.join('.')} does not move: ${remedy}`);
  const { resources, ...deploy } = mapOf(values['deploy']);
  for (const key of Object.keys(deploy)) lost(['deploy', key], deployRemedies[key] ?? 'there is nothing like it');
  if (mapOf(resources)['reservations'] !== undefined)
    lost(['deploy', 'resources', 'reservations'], 'a container has limits, and nothing is set aside for it');
  for (const [need, how] of Object.entries(mapOf(values['depends_on'])))
    if (!['', 'service_started'].includes(asText(mapOf(how)['condition'])))
      lost(['depends_on', need, 'condition'], `say when ${need} is ready with manage.wait in its document`);
  for (const [network, how] of Object.entries(mapOf(values['networks'])))
    for (const key of Object.keys(mapOf(how)))
      lost(
        ['networks', network, key],
        key === 'ipv4_address' || key === 'ipv6_address'
          ? `write it as ${key.replace('_', '.')} of the nic`
          : 'there is nothing like it',
      );
  if (asText(values['restart']).startsWith('on-failure'))
    lost(['restart'], 'the init of the container restarts its services');
}

const deployRemedies: Readonly<Record<string, string>> = {
  replicas: 'write a document for each of them, under names of their own',
  mode: 'write a document for each of them, under names of their own',
  restart_policy: 'the init of the container restarts its services; boot.autostart starts the container',
  labels: 'write them as labels:',
};

const nameOf = (service: string, values: JsonObject): string => plainName(asText(values['container_name']) || service);

const systems = ['debian', 'ubuntu', 'alpine', 'fedora', 'rockylinux', 'almalinux', 'archlinux'];
const usual = 'debian/12';

function sourceOf(file: File, service: string, image: string): JsonObject {
  const [, name = '', tag = ''] = /([^/:@]+)(?::([^@]+))?(?:@.*)?$/.exec(image) ?? [];
  const version = tag.replace(/-(slim|standard|minimal)$/, '');
  const isSystem = systems.includes(name) && version !== '' && version !== 'latest';
  const alias = isSystem ? `${name}/${version}` : usual;
  if (!isSystem)
    note(
      file,
      ['services', service, ...(image === '' ? [] : ['image'])],
      `services.${service}: ${image === '' ? 'its image is built' : `the image ${image} holds one program`}, a container holds a system: it gets ${alias}, install the program in it (exec:, or cloud-init)`,
    );
  return {
    type: 'image',
    mode: 'pull',
    server: 'https://images.linuxcontainers.org',
    protocol: 'simplestreams',
    alias,
  };
}

function configOf(file: File, service: string, values: JsonObject): JsonObject {
  const limits = mapOf(mapOf(mapOf(values['deploy'])['resources'])['limits']);
  const memory = asText(values['mem_limit'] ?? limits['memory']);
  const cpus = Number(values['cpus'] ?? limits['cpus'] ?? 0);
  const pids = values['pids_limit'] ?? limits['pids'];
  return {
    ...environmentOf(file, service, values['environment']),
    ...(memory === '' ? {} : { 'limits.memory': sizeOf(memory) }),
    ...(cpus > 0
      ? Number.isInteger(cpus)
        ? { 'limits.cpu': cpus }
        : { 'limits.cpu.allowance': `${Math.round(cpus * 100)}ms/100ms` }
      : {}),
    ...(pids === undefined || pids === null ? {} : { 'limits.processes': pids }),
    ...(values['privileged'] === true ? { 'security.privileged': true } : {}),
    ...(['always', 'unless-stopped'].includes(asText(values['restart'])) ? { 'boot.autostart': true } : {}),
  };
}

/** `512m` and `1gb` of compose are powers of 1024. */
const sizeOf = (text: string): string => {
  const [, number = text, unit = ''] = /^(\d+)\s*([kmg])?b?$/i.exec(text) ?? [];
  return unit === '' ? number : `${number}${unit.toUpperCase()}iB`;
};

function environmentOf(file: File, service: string, given: Json | undefined): JsonObject {
  const pairs = isMap(given)
    ? Object.entries(given)
    : textsOf(given).map((line): [string, Json] => {
        const at = line.indexOf('=');
        return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)];
      });
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => {
      if (value !== null) return [[`environment.${name}`, asText(value)]];
      note(
        file,
        ['services', service, 'environment'],
        `services.${service}: ${name} takes its value from the shell: write it as a variable (kind: vars)`,
      );
      return [];
    }),
  );
}

function portsOf(file: File, service: string, values: JsonObject): JsonObject {
  const list = Array.isArray(values['ports']) ? (values['ports'] as readonly Json[]) : [];
  return Object.fromEntries(
    list.flatMap((port) => {
      const found = isMap(port) ? longPort(port) : shortPort(asText(port));
      if (found !== undefined)
        return [[`port-${found.listen.replaceAll(/[^a-z0-9]+/gi, '-')}`, { type: 'proxy', ...found }]];
      note(
        file,
        ['services', service, 'ports'],
        `services.${service}: the port ${asText(port)} names no port of the host: add a proxy device`,
      );
      return [];
    }),
  );
}

function shortPort(text: string): { readonly listen: string; readonly connect: string } | undefined {
  const found = /^(?:([\d.]+):)?(\d+(?:-\d+)?):(\d+(?:-\d+)?)(?:\/(tcp|udp))?$/.exec(text);
  if (found === null) return undefined;
  const [, address = '0.0.0.0', host = '', inside = '', protocol = 'tcp'] = found;
  return { listen: `${protocol}:${address}:${host}`, connect: `${protocol}:127.0.0.1:${inside}` };
}

const longPort = (port: JsonObject): ReturnType<typeof shortPort> =>
  shortPort(
    `${asText(port['host_ip']) || '0.0.0.0'}:${asText(port['published'])}:${asText(port['target'])}/${asText(port['protocol']) || 'tcp'}`,
  );

function mountsOf(file: File, service: string, values: JsonObject): JsonObject {
  const list = Array.isArray(values['volumes']) ? (values['volumes'] as readonly Json[]) : [];
  return Object.fromEntries(
    list.flatMap((mount, index) => {
      const [source, target, mode = ''] = isMap(mount)
        ? [asText(mount['source']), asText(mount['target']), mount['read_only'] === true ? 'ro' : '']
        : asText(mount).split(':');
      if (source === undefined || source === '' || target === undefined || target === '') {
        note(
          file,
          ['services', service, 'volumes'],
          `services.${service}: the volume ${asText(mount)} has no name: it is a folder of the container`,
        );
        return [];
      }
      const readonly = mode.split(',').includes('ro') ? { readonly: true } : {};
      const isPath = /^[./~]/.test(source);
      if (!isPath) file.volumes.add(source);
      const from = isPath ? { source: resolve(file.folder, source) } : { pool: 'default', source: plainName(source) };
      return [[`volume-${index + 1}`, { type: 'disk', ...from, path: target, ...readonly }]];
    }),
  );
}

/** A service without networks keeps the nic of its profiles. */
function nicsOf(values: JsonObject): JsonObject {
  const names = isMap(values['networks']) ? Object.keys(values['networks']) : textsOf(values['networks']);
  return Object.fromEntries(
    names
      .filter((name) => name !== 'default')
      .map((name, index) => [`eth${index}`, { type: 'nic', network: bridgeName(name), name: `eth${index}` }]),
  );
}
