// The resource types of the LXD and Incus providers, one row each: our type, and the conversion of its arguments.
import { aliasesOf, containerSource, imageSource, importedImage } from './image-source.ts';
import { commands, config, devices, fileMode, files, running, timeouts, waits } from './instance-parts.ts';
import type { Block } from './read-body.ts';
import type { Group, TypeRow } from './rows.ts';
import { argumentOf, UnconvertibleError, type Source } from './source.ts';

const place = ['name', 'description', 'project', 'remote'];
const holder = { instance: 'container', instance_name: 'container', container_name: 'container' };
const projectless = { project: 'the object is in no project here' };
const createsFolders = { create_directories: '' };

const instance: TypeRow = {
  target: 'gantry_container',
  same: [...place, 'architecture', 'ephemeral', 'running', 'profiles', 'target', 'allow_restart'],
  only: { type: 'container' },
  groups: [containerSource, config, devices, files, commands, running, waits, timeouts],
  gone: {
    image: 'use source.alias or source.fingerprint',
    limits: 'use config["limits.NAME"]',
    device: 'use devices["NAME"]',
    execs: 'use exec["NAME"]',
    file: 'use files["PATH"]',
    interfaces:
      'here interfaces is keyed by the name of the interface, with ipv4_addresses, ipv6_addresses and mac_address',
  },
  id: [['name']],
  idMore: importedImage,
};

const profile: TypeRow = {
  target: 'gantry_profile',
  same: [...place, 'config'],
  groups: [devices, timeouts],
  gone: { device: 'use devices["NAME"]' },
  id: [['name']],
};

const network: TypeRow = {
  target: 'gantry_network',
  same: [...place, 'type', 'config', 'member_overrides'],
  groups: [timeouts],
  gone: { managed: 'every gantry_network is managed' },
  id: [['name']],
};

const networkAcl: TypeRow = {
  target: 'gantry_network_acl',
  same: [...place, 'config', 'ingress', 'egress'],
  groups: [timeouts],
  id: [['name']],
};

/** The source of a pool is a key of its config here. */
const poolConfig: Group = {
  takes: ['config', 'source'],
  make(items, source) {
    const from = items.find(({ name }) => name === 'source');
    if (from === undefined) return undefined;
    const written = items.find(({ name }) => name === 'config');
    if (from.type !== 'argument' || (written !== undefined && written.type !== 'argument'))
      throw new UnconvertibleError(from.start, 'config or source is written as a block');
    const entry = `{ source = ${source.render(from.value)} }`;
    return `config = ${written === undefined ? entry : `merge(${source.render(written.value)}, ${entry})`}`;
  },
};

const pool: TypeRow = {
  target: 'gantry_storage_pool',
  same: ['name', 'description', 'driver', 'remote', 'member_overrides'],
  drops: projectless,
  groups: [poolConfig, timeouts],
  gone: { source: 'use effective_config["source"]', project: 'pools are in no project' },
  id: [['name']],
  hasNoProject: true,
};

const volume: TypeRow = {
  target: 'gantry_storage_volume',
  same: [...place, 'pool', 'config', 'target'],
  renames: { source_volume: 'source', expanded_config: 'effective_config' },
  only: { type: 'custom', content_type: 'filesystem' },
  groups: [timeouts],
  id: [['pool'], '/', ['name']],
};

const project: TypeRow = {
  target: 'gantry_project',
  same: ['name', 'description', 'config', 'remote', 'force_destroy'],
  groups: [timeouts],
  id: [['name']],
  hasNoProject: true,
};

const snapshot: TypeRow = {
  target: 'gantry_snapshot',
  same: ['name', 'stateful', 'project', 'remote', 'expires_at'],
  renames: { ...holder, creation_date: 'created_at' },
  groups: [timeouts],
  id: [['instance', 'instance_name', 'container_name'], '/', ['name']],
};

const file: TypeRow = {
  target: 'gantry_container_file',
  same: ['content', 'uid', 'gid', 'mode', 'project', 'remote'],
  renames: { ...holder, source_path: 'source', target_path: 'path', target_file: 'path' },
  only: { append: false },
  drops: createsFolders,
  adds: { mode: fileMode },
  groups: [timeouts],
  gone: { resource_id: 'use container and path' },
  id: [['instance', 'instance_name', 'container_name'], '/', ['target_path', 'target_file']],
};

const device: TypeRow = {
  target: 'gantry_container_device',
  same: ['name', 'type', 'properties', 'project', 'remote'],
  renames: { ...holder, device_name: 'name' },
  drops: { target: 'the container knows its member' },
  groups: [timeouts],
  id: [['instance_name', 'instance', 'container_name'], '/', ['name', 'device_name']],
};

/** A volume in a container, as older versions wrote it. */
const attachedDisk: Group = {
  takes: ['pool', 'volume_name', 'path', 'device_name'],
  make(_, source, block) {
    const [pool, volume, path] = ['pool', 'volume_name', 'path'].map((name) => {
      const value = argumentOf(block, name)?.value;
      if (value === undefined) throw new UnconvertibleError(block.start, `it has no ${name}`);
      return source.render(value);
    }) as [string, string, string];
    const own = argumentOf(block, 'device_name')?.value;
    const name = own === undefined ? volume : source.render(own);
    return `name = ${name}\n  type = "disk"\n  properties = { pool = ${pool}, source = ${volume}, path = ${path} }`;
  },
};

const attachment: TypeRow = {
  target: 'gantry_container_device',
  same: ['project', 'remote'],
  renames: holder,
  groups: [attachedDisk, timeouts],
  id: [['container_name'], '/', ['device_name', 'volume_name']],
};

const image: TypeRow = {
  target: 'gantry_image',
  same: ['project', 'remote', 'properties', 'public', 'auto_update'],
  drops: { compression_algorithm: 'the server chooses', triggers: 'use lifecycle.replace_triggered_by' },
  groups: [imageSource, { takes: ['aliases', 'alias'], make: () => '' }, timeouts],
  gone: {
    alias: 'aliases are resources of their own (gantry_image_alias)',
    aliases: 'aliases are resources of their own (gantry_image_alias)',
    copied_aliases: 'the server knows them: gantry image list',
  },
  more: aliasResources,
};

/** The aliases of an image are one resource with an instance for each. */
function aliasResources(block: Block, source: Source): string {
  const aliases = aliasesOf(block, source);
  if (aliases === undefined) return '';
  if (['count', 'for_each'].some((name) => argumentOf(block, name) !== undefined))
    throw new UnconvertibleError(aliases.start, 'aliases of several images (count, for_each) are not carried over');
  const name = block.labels[1]?.text ?? '';
  const lines = [
    ['for_each', aliases.forEach],
    ['name', 'each.key'],
    ...(aliases.areDescribed ? [['description', 'each.value']] : []),
    ['target', `gantry_image.${name}.fingerprint`],
    ...['project', 'remote'].flatMap((each) => {
      const value = argumentOf(block, each)?.value;
      return value === undefined ? [] : [[each, source.render(value)]];
    }),
  ].map(([key = '', value]) => `  ${key.padEnd(aliases.areDescribed ? 11 : 8)} = ${value}\n`);
  return `\n\nresource "gantry_image_alias" "${name}" {\n${lines.join('')}}`;
}

const certificate: TypeRow = {
  target: 'gantry_certificate',
  same: ['name', 'certificate', 'projects', 'restricted', 'remote'],
  renames: { content: 'certificate' },
  only: { type: 'client' },
  drops: { description: 'certificates have only a name' },
  groups: [
    {
      takes: ['path'],
      make: ([item], source) =>
        item?.type === 'argument' ? `certificate = file(${source.render(item.value)})` : undefined,
    },
    timeouts,
  ],
  hasNoProject: true,
};

const serverConfig: TypeRow = {
  target: 'gantry_server_config',
  same: ['config', 'remote'],
  groups: [timeouts],
  hasNoProject: true,
};

/** By their names without the prefix, older names too. */
export const resourceRows: Readonly<Record<string, TypeRow>> = {
  instance,
  container: instance,
  profile,
  network,
  network_acl: networkAcl,
  storage_pool: pool,
  volume,
  storage_volume: volume,
  project,
  snapshot,
  instance_snapshot: snapshot,
  instance_file: file,
  container_file: file,
  instance_device: device,
  volume_container_attach: attachment,
  cached_image: image,
  publish_image: image,
  image,
  certificate,
  trust_certificate: certificate,
  server: serverConfig,
};

/** Types whose state cannot be moved: it is removed there and imported here. */
export const movesNoState: ReadonlySet<string> = new Set(['server']);

const looked = (target: string, same: readonly string[]): TypeRow => ({ target, same, gone: {} });

export const dataRows: Readonly<Record<string, TypeRow>> = {
  image: {
    ...looked('gantry_image', ['fingerprint', 'project', 'remote']),
    renames: { name: 'alias' },
    only: { type: 'container' },
    drops: { architecture: 'the alias or the fingerprint names one image' },
  },
  instance: looked('gantry_container', ['name', 'project', 'remote']),
  network: looked('gantry_network', ['name', 'project', 'remote']),
  network_acl: looked('gantry_network_acl', ['name', 'project', 'remote']),
  profile: looked('gantry_profile', ['name', 'project', 'remote']),
  project: looked('gantry_project', ['name', 'remote']),
  storage_pool: looked('gantry_storage_pool', ['name', 'remote']),
  storage_volume: looked('gantry_storage_volume', ['name', 'pool', 'project', 'remote']),
};
