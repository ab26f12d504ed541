// Makes, finds and removes the volume group of a pool: on a file of its own, on a block device, or one that is there.
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBytes } from '../../../api/text/byte-size.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { type DriverError, driverErrors } from '../../driver-error.ts';
import type { BlockTrees } from '../blocks/blocks.ts';
import { contentOf } from '../blocks/mounts.ts';
import { makeFolders } from '../dir-pool.ts';
import type { PoolResources, PoolSpec } from '../driver.ts';
import { recordsFolder } from '../layout.ts';
import { attachedLoop, freeSize, hasLoopFile, makeLoopFile, removeLoopFile } from '../loop-file.ts';
import { removeTree } from '../remove-tree.ts';
import { locationOf, refuseVolumes, removePlace, tagOf, type Location } from '../mounted/pool-place.ts';
import { commands, devicesIn, groupsIn, groupTag, madeTag, poolTagsOf, type Group } from './commands.ts';
import { escaped, longestGroup } from './names.ts';
import { groupOf, logicalsOf, lvmStore, runLvm, thinPoolOf } from './store.ts';

const smallestPool = 32 * 1_048_576;

const poolTag = (root: string, pool: PoolSpec): string => groupTag(tagOf(root, pool));

async function findGroup(name: string): Promise<Group | undefined> {
  const groups = groupsIn(await runLvm(commands.groups(), 'cannot read the volume groups of this host'));
  return groups.find((group) => group.name === name);
}

export async function fillLvmConfig(root: string, pool: PoolSpec): Promise<Record<string, string>> {
  const location = locationOf(root, pool);
  const config: Record<string, string> = { ...pool.config };
  const source = config['source'] ?? '';
  if (location.kind === 'given') await checkGiven(pool, source);
  config['lvm.vg_name'] = location.kind === 'given' ? source : groupOf(pool);
  checkGroupName(config['lvm.vg_name']);
  const thin = thinPoolOf(pool);
  if (thin !== undefined) config['lvm.thinpool_name'] = thin;
  if (location.kind === 'file')
    return { ...config, source: location.file, size: config['size'] || (await freeSize(root)) };
  if ((config['size'] ?? '') !== '')
    throw driverErrors.invalid('config.size: is for a pool with a file of its own; leave it or source out');
  if (location.kind === 'given') return config;
  const stats = await stat(location.device).catch(() => undefined);
  if (stats?.isBlockDevice() !== true)
    throw driverErrors.invalid(
      `config.source: ${location.device} of pool ${pool.name} is not a block device; give one, or the name of a volume group`,
    );
  return { ...config, source: config['lvm.vg_name'], 'volatile.initial_source': location.device };
}

function checkGroupName(name: string): void {
  if (/^[A-Za-z0-9+_.][A-Za-z0-9+_.-]*$/.test(name) && escaped(name).length <= longestGroup && !/^\.+$/.test(name))
    return;
  throw driverErrors.invalid(
    `config.lvm.vg_name: ${JSON.stringify(name)} cannot be the name of a volume group here: up to ${longestGroup} letters, digits and +_.-, where - counts twice`,
  );
}

async function checkGiven(pool: PoolSpec, source: string): Promise<void> {
  const named = pool.config['lvm.vg_name'] ?? '';
  if (named !== '' && named !== source)
    throw driverErrors.invalid(`config.lvm.vg_name: is ${named}, but config.source names ${source}; leave one out`);
  if ((await findGroup(source)) === undefined)
    throw driverErrors.invalid(
      `config.source: there is no volume group ${source} on this host; create it, give a block device, or leave source out`,
    );
}

/** Idempotent. Formats or adopts only empty devices and groups. */
export async function createLvmPool(root: string, pool: PoolSpec, trees: BlockTrees): Promise<void> {
  const location = locationOf(root, pool);
  const name = groupOf(pool);
  const found = await findGroup(name);
  if (found?.tags.includes(poolTag(root, pool)) !== true) await takeGroup(root, pool, location, found);
  await refuseVolumes(
    lvmStore,
    pool,
    `config.source: the volume group ${name} of pool ${pool.name} is not empty: it has`,
  );
  await ensureThinPool(pool);
  await makePlace(trees.root(pool));
}

async function takeGroup(root: string, pool: PoolSpec, location: Location, found: Group | undefined): Promise<void> {
  const name = groupOf(pool);
  const tag = poolTag(root, pool);
  if (location.kind === 'given') return takeGiven(pool, found, tag);
  if (found !== undefined)
    throw driverErrors.inUse(
      `config.lvm.vg_name: this host has a volume group ${name} already; choose another name for pool ${pool.name}`,
    );
  const device = location.kind === 'file' ? await newFile(location.file, pool) : location.device;
  await makeGroup(name, device, tag, pool);
}

async function newFile(file: string, pool: PoolSpec): Promise<string> {
  const bytes = parseBytes(pool.config['size'] ?? '') ?? 0;
  if (bytes < smallestPool)
    throw driverErrors.invalid(`config.size: a pool of lvm needs at least 32MiB, not ${pool.config['size']}`);
  if (!(await hasLoopFile(file))) await makeLoopFile(file, bytes);
  return attachedLoop(file);
}

async function makeGroup(name: string, device: string, tag: string, pool: PoolSpec): Promise<void> {
  const what = `cannot make the volume group ${name} of pool ${pool.name} on ${device}`;
  const groups = devicesIn(await runLvm(commands.devices(), 'cannot read the physical volumes of this host'));
  const group = groups.get(device);
  const refuse = (content: string): DriverError =>
    driverErrors.inUse(`config.source: ${what}: it has ${content} on it; wipe it first if nobody needs that`);
  if (group !== undefined && group !== '') throw refuse(`the volume group ${group}`);
  const content = group === undefined ? await contentOf(device) : undefined;
  if (content !== undefined) throw refuse(content);
  if (group === undefined) await runLvm(commands.makeDevice(device), what);
  await runLvm(commands.makeGroup(name, device, tag), what);
}

async function takeGiven(pool: PoolSpec, found: Group | undefined, tag: string): Promise<void> {
  const name = groupOf(pool);
  const what = `config.source: the volume group ${name} cannot be pool ${pool.name}`;
  if (found === undefined) throw driverErrors.invalid(`${what}: this host has none of that name`);
  const other = poolTagsOf(found)[0] ?? found.tags.find((each) => each === 'lxd_pool');
  if (other !== undefined) throw driverErrors.inUse(`${what}: it is another pool (it has the tag ${other})`);
  if (found.volumes > 0 && !isTrue(pool.config['lvm.vg.force_reuse'] ?? ''))
    throw driverErrors.inUse(
      `${what}: it has ${found.volumes} logical volumes; set lvm.vg.force_reuse to share it with them`,
    );
  await runLvm(commands.tagGroup(name, tag), what);
}

async function ensureThinPool(pool: PoolSpec): Promise<void> {
  const thin = thinPoolOf(pool);
  if (thin === undefined) return;
  const group = groupOf(pool);
  const found = (await logicalsOf(pool)).find(({ name }) => name === thin);
  if (found?.isThinPool === false)
    throw driverErrors.inUse(`config.lvm.thinpool_name: ${group}/${thin} is a logical volume, and not a thin pool`);
  if (found === undefined)
    await runLvm(commands.makeThinPool(group, thin), `cannot make the thin pool ${thin} of pool ${pool.name}`);
}

async function makePlace(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o711 });
  await makeFolders(root);
}

export async function mountLvmPool(
  root: string,
  pool: PoolSpec,
  trees: BlockTrees,
  busy: ReadonlySet<string>,
): Promise<void> {
  const location = locationOf(root, pool);
  const name = groupOf(pool);
  if (location.kind === 'file') await attachedLoop(location.file);
  const found = await findGroup(name);
  if (found === undefined)
    throw driverErrors.failed(
      `pool ${pool.name} cannot be used: there is no volume group ${name}${location.kind === 'device' ? `; is the disk ${location.device} there?` : ''}`,
    );
  await takeOver(found, poolTag(root, pool));
  await runLvm(commands.activateGroup(name), `cannot activate the volume group ${name} of pool ${pool.name}`);
  await makePlace(trees.root(pool));
  await trees.recover(pool, busy);
  await trees.mountAll(pool);
}

/** A recovered pool still has the tag of the lost state directory; without a new tag it could not be deleted. */
async function takeOver(found: Group, tag: string): Promise<void> {
  const what = `cannot take over the volume group ${found.name}`;
  const tags = poolTagsOf(found);
  if (!tags.includes(tag)) await runLvm(commands.tagGroup(found.name, tag), what);
  for (const old of tags.filter((each) => each !== tag)) await runLvm(commands.untagGroup(found.name, old), what);
}

/** Idempotent. From a volume group that existed before the pool, only the pool's volumes are deleted. */
export async function deleteLvmPool(root: string, pool: PoolSpec, trees: BlockTrees): Promise<void> {
  const location = locationOf(root, pool);
  const found = await findGroup(groupOf(pool));
  if (found?.tags.includes(poolTag(root, pool)) === true) {
    await refuseVolumes(lvmStore, pool, `pool ${pool.name} still has`);
    await trees.unmountAll(pool);
    for (const { id } of await lvmStore.list(pool)) await lvmStore.remove(pool, id);
    await dropGroup(pool, location, poolTag(root, pool));
  }
  if (location.kind === 'file') await removeLoopFile(location.file);
  await removeTree(join(trees.root(pool), recordsFolder));
  await removePlace(trees.root(pool));
}

async function dropGroup(pool: PoolSpec, location: Location, tag: string): Promise<void> {
  const group = groupOf(pool);
  const what = `cannot delete the volume group ${group} of pool ${pool.name}`;
  for (const { name, tags } of await logicalsOf(pool))
    if (tags.includes(madeTag)) await runLvm(commands.remove(group, name), what);
  const others = await logicalsOf(pool);
  if (location.kind === 'given' || others.length > 0) return void (await runLvm(commands.untagGroup(group, tag), what));
  await runLvm(commands.removeGroup(group), what);
  const device = location.kind === 'file' ? await attachedLoop(location.file) : location.device;
  await runLvm(commands.removeDevice(device), what);
}

export async function applyLvmConfig(pool: PoolSpec, before: PoolSpec, trees: BlockTrees): Promise<void> {
  await renameGroup(groupOf(before), groupOf(pool));
  const [old, thin] = [thinPoolOf(before), thinPoolOf(pool)];
  if (old !== undefined && thin !== undefined && old !== thin)
    await runLvm(
      commands.rename(groupOf(pool), old, thin),
      `config.lvm.thinpool_name: cannot rename ${old} to ${thin}`,
    );
  const key = 'volume.block.mount_options';
  if (before.config[key] !== pool.config[key]) await trees.remountAll(pool);
}

async function renameGroup(from: string, to: string): Promise<void> {
  if (from === to) return;
  checkGroupName(to);
  if ((await findGroup(to)) !== undefined)
    throw driverErrors.invalid(`config.lvm.vg_name: this host has a volume group ${to} already`);
  await runLvm(commands.renameGroup(from, to), `config.lvm.vg_name: cannot rename the volume group ${from} to ${to}`);
}

export async function lvmResources(pool: PoolSpec): Promise<PoolResources> {
  const inodes = { used: 0, total: 0 };
  const thin = thinPoolOf(pool);
  if (thin !== undefined) {
    const { bytes = 0, dataPercent = 0 } = (await logicalsOf(pool)).find(({ name }) => name === thin) ?? {};
    return { space: { used: Math.round((bytes * dataPercent) / 100), total: bytes }, inodes };
  }
  const group = await findGroup(groupOf(pool));
  if (group === undefined) throw driverErrors.failed(`there is no volume group ${groupOf(pool)}`);
  return { space: { used: group.bytes - group.free, total: group.bytes }, inodes };
}
