// Volumes as logical volumes of a volume group: thin ones of a thin pool, or thick ones.
import { setTimeout as sleep } from 'node:timers/promises';
import { isTrue } from '../../../api/text/value-checks.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { isThere } from '../../../lib/shared/missing-files.ts';
import { driverErrors } from '../../driver-error.ts';
import type { BlockStore, BlockVolume } from '../blocks/store.ts';
import type { PoolSpec } from '../driver.ts';
import { commands, logicalsIn, saysFull, saysInUse, type Logical } from './commands.ts';
import { deviceOf, idOf, logicalName, tagsFor } from './names.ts';

const longMs = 600_000;
const resizing = 'gantry.resizing';
export const defaultThinPool = 'GantryThinPool';
/** LVM's default extent size. */
const usualExtent = 4 * 1_048_576;

export const groupOf = ({ name, config }: Pick<PoolSpec, 'name' | 'config'>): string => config['lvm.vg_name'] || name;
export const thinPoolOf = ({ config }: Pick<PoolSpec, 'config'>): string | undefined =>
  config['lvm.use_thinpool'] && !isTrue(config['lvm.use_thinpool'])
    ? undefined
    : config['lvm.thinpool_name'] || defaultThinPool;

/** Never aborted in the middle: a command of LVM that is killed can leave a device suspended. */
export async function runLvm(argv: readonly string[], what: string): Promise<string> {
  try {
    return (await exec(argv, { timeoutMs: longMs, maxBytes: 64 * 1_048_576 })).stdout;
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    if (saysFull(error.stderr)) throw driverErrors.noSpace(`${what}: no space is left`, error);
    if (saysInUse(error.stderr)) throw driverErrors.inUse(`${what}: it is in use`, error);
    throw driverErrors.failed(what, error);
  }
}

export async function logicalsOf(pool: PoolSpec): Promise<readonly Logical[]> {
  const group = groupOf(pool);
  return logicalsIn(
    await runLvm(commands.volumes(group), `cannot read the volume group ${group} of pool ${pool.name}`),
  );
}

function asVolume({ name, bytes, tags }: Logical): BlockVolume | undefined {
  const id = idOf(name, tags);
  return id === undefined ? undefined : { id, bytes, isResizing: tags.includes(resizing) };
}

const place = (pool: PoolSpec, id: string): readonly [string, string] => [groupOf(pool), logicalName(id)];

export const lvmStore: BlockStore = {
  canClone: (pool) => thinPoolOf(pool) !== undefined,
  readsZeros: (pool) => thinPoolOf(pool) !== undefined,
  rounded: (_pool, bytes) => Math.ceil(bytes / usualExtent) * usualExtent,
  async list(pool) {
    return (await logicalsOf(pool)).flatMap((logical) => asVolume(logical) ?? []);
  },
  async has(pool, id) {
    return (await isThere(deviceOf(...place(pool, id)))) || (await lvmStore.find(pool, id)) !== undefined;
  },
  async find(pool, id) {
    const name = logicalName(id);
    const found = (await logicalsOf(pool)).find((logical) => logical.name === name);
    return found === undefined ? undefined : asVolume(found);
  },
  async create(pool, id, bytes) {
    const [group, name] = place(pool, id);
    const thin = thinPoolOf(pool);
    const size = lvmStore.rounded(pool, bytes);
    const command =
      thin === undefined
        ? commands.makeThick(group, name, size, tagsFor(id))
        : commands.makeThin(group, thin, name, size, tagsFor(id));
    await runLvm(command, `cannot make a volume of ${size} bytes in the volume group ${group}`);
  },
  async clone(pool, from, to, mountedAt) {
    const [group, name] = place(pool, to);
    // The kernel writes out ext4 and xfs before their device is copied. It does not know the file system btrfs of a device.
    if (mountedAt !== undefined) await exec(['sync', '-f', '--', mountedAt], { timeoutMs: longMs });
    await runLvm(commands.snapshot(group, logicalName(from), name, tagsFor(to)), `cannot make a snapshot of ${from}`);
  },
  async rename(pool, from, to) {
    const [group, name] = place(pool, to);
    const before = logicalName(from);
    // The rename is the atomic step: a tag that does not match the name is ignored.
    for (const tag of tagsFor(to)) await runLvm(commands.tag(group, before, tag), `cannot rename ${from}`);
    await runLvm(commands.rename(group, before, name), `cannot rename ${from} to ${to}`);
    for (const tag of tagsFor(from)) await runLvm(commands.untag(group, name, tag), `cannot rename ${from}`);
  },
  async remove(pool, id) {
    const [group, name] = place(pool, id);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await runLvm(commands.remove(group, name), `cannot delete the logical volume ${group}/${name}`);
        return;
      } catch (error) {
        if ((await lvmStore.find(pool, id)) === undefined) return;
        // udev opens a device right after it was closed.
        if (attempt >= 10) throw error;
        await sleep(50 * attempt);
      }
    }
  },
  async beginResize(pool, id) {
    await runLvm(commands.tag(...place(pool, id), resizing), `cannot change the size of ${id}`);
  },
  async resize(pool, id, bytes) {
    if ((await lvmStore.find(pool, id))?.bytes === bytes) return;
    await runLvm(commands.resize(...place(pool, id), bytes), `cannot change the size of ${id} to ${bytes} bytes`);
  },
  async endResize(pool, id) {
    await runLvm(commands.untag(...place(pool, id), resizing), `cannot end the change of size of ${id}`);
  },
  async open(pool, id) {
    const device = deviceOf(...place(pool, id));
    if (await isThere(device)) return device;
    await runLvm(commands.activate(...place(pool, id)), `cannot activate the logical volume of ${id}`);
    return device;
  },
};
