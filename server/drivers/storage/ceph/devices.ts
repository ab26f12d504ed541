// Images of RBD as block devices of the kernel.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ifMissing } from '../../../lib/shared/missing-files.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { codes, commands, secondProtocol, type Cluster } from './commands.ts';

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
    const numbers = await readdir(folder).catch(ifMissing);
    return (await Promise.all((numbers ?? []).map(mappedAs))).flatMap((each) => each ?? []);
  },
  async map(cluster, image, readOnly) {
    const map = async (...options: readonly string[]): Promise<string> =>
      (await exec(commands.map(cluster, image, readOnly, options), { timeoutMs: longMs })).stdout.trim();
    return map().catch(async (error: unknown) => {
      // No such image, or no monitor that speaks the first protocol.
      if (!(error instanceof ExecError && error.code === codes.notFound)) throw error;
      return map('--options', secondProtocol);
    });
  },
  async unmap(device) {
    await exec(commands.unmap(device), { timeoutMs: longMs });
  },
};

/** Undefined if it was unmapped meanwhile. */
async function mappedAs(number: string): Promise<MappedImage | undefined> {
  const read = async (name: string): Promise<string> => (await readFile(join(folder, number, name), 'utf8')).trim();
  try {
    const [fsid, pool, name] = [await read('cluster_fsid'), await read('pool'), await read('name')];
    return { fsid, image: `${pool}/${name}`, device: `/dev/rbd${number}` };
  } catch (error) {
    return ifMissing(error);
  }
}
