// Images of RBD as block devices of the kernel.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exec } from '../../../lib/exec.ts';
import { hasCode } from '../remove-tree.ts';
import { commands, type Cluster } from './commands.ts';

export interface MappedImage {
  readonly fsid: string;
  /** POOL/IMAGE. */
  readonly image: string;
  readonly device: string;
}

export interface RbdDevices {
  list(): Promise<readonly MappedImage[]>;
  map(cluster: Cluster, image: string, readOnly: boolean): Promise<string>;
  /** Throws ExecError with the code `busy` while something has the device open. */
  unmap(device: string): Promise<void>;
  /** The size of a mapped image was changed; absent: the device knows. */
  readonly resized?: (image: string, bytes: number) => Promise<void>;
}

const longMs = 600_000;
const folder = '/sys/bus/rbd/devices';

export const kernelDevices: RbdDevices = {
  async list() {
    const numbers = await readdir(folder).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    return (await Promise.all(numbers.map(mappedAs))).flatMap((each) => each ?? []);
  },
  async map(cluster, image, readOnly) {
    return (await exec(commands.map(cluster, image, readOnly), { timeoutMs: longMs })).stdout.trim();
  },
  async unmap(device) {
    await exec(commands.unmap(device), { timeoutMs: longMs });
  },
};

/** Undefined: it was unmapped meanwhile. */
async function mappedAs(number: string): Promise<MappedImage | undefined> {
  const read = async (name: string): Promise<string> => (await readFile(join(folder, number, name), 'utf8')).trim();
  try {
    const [fsid, pool, name] = [await read('cluster_fsid'), await read('pool'), await read('name')];
    return { fsid, image: `${pool}/${name}`, device: `/dev/rbd${number}` };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
