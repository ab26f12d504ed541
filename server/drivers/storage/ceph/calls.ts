// Runs commands of Ceph for a pool, and distinguishes errors by their numbers.
import { exec, ExecError } from '../../../lib/exec.ts';
import { DriverError, driverErrors } from '../../driver-error.ts';
import type { PoolSpec } from '../driver.ts';
import { codes, commands, linesIn, saysNotFound, type Cluster, type ImageForm } from './commands.ts';

const longMs = 600_000;

export const clusterOf = ({ config }: Pick<PoolSpec, 'config'>): Cluster => ({
  name: config['ceph.cluster_name'] || 'ceph',
  user: config['ceph.user.name'] || 'admin',
});

export const osdPoolOf = ({ name, config }: Pick<PoolSpec, 'name' | 'config'>): string =>
  config['ceph.osd.pool_name'] || name;

export function formOf({ config }: PoolSpec): Omit<ImageForm, 'bytes'> {
  const features = (config['ceph.rbd.features'] || 'layering').split(',').map((each) => each.trim());
  return { features, dataPool: config['ceph.osd.data_pool_name'] || undefined };
}

const errors: Readonly<Record<number, readonly [DriverError['code'], string]>> = {
  [codes.notFound]: ['NotFound', ': it is not there'],
  [codes.noAccess]: ['Failed', ': the user of the cluster has no access'],
  [codes.busy]: ['InUse', ': it is in use'],
  [codes.exists]: ['Exists', ': it exists'],
  [codes.full]: ['NoSpace', ': no space is left'],
};

export async function runCeph(argv: readonly string[], what: string): Promise<string> {
  try {
    return (await exec(argv, { timeoutMs: longMs, maxBytes: 64 * 1_048_576 })).stdout;
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    const [code, why] = errors[error.code] ?? ['Failed', ''];
    throw new DriverError(code, `${what}${why}`, error);
  }
}

/** `undefined` in place of an error with one of these codes. */
export async function unless(
  expected: readonly DriverError['code'][],
  work: Promise<string>,
): Promise<string | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof DriverError && expected.includes(error.code)) return undefined;
    throw error;
  });
}

/** The driver's marks in a pool: its identity, volume names that RBD does not allow, and size changes. */
export async function marksOf(pool: PoolSpec): Promise<readonly string[]> {
  try {
    return linesIn((await exec(commands.marks(clusterOf(pool), osdPoolOf(pool)), { timeoutMs: longMs })).stdout);
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    if (saysNotFound(error.stderr)) return [];
    throw driverErrors.failed(`cannot read the OSD pool ${osdPoolOf(pool)} of pool ${pool.name}`, error);
  }
}

export const mark = (pool: PoolSpec, text: string): Promise<string> =>
  runCeph(commands.mark(clusterOf(pool), osdPoolOf(pool), text), `cannot mark the pool ${pool.name}`);

export const unmark = (pool: PoolSpec, text: string): Promise<string> =>
  runCeph(commands.unmark(clusterOf(pool), osdPoolOf(pool), text), `cannot mark the pool ${pool.name}`);
