// The `cephfs` storage driver: volumes are directories of one CephFS, mounted each at its path; snapshots are those of the file system.
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { exec } from '../../../lib/exec.ts';
import { driverErrors } from '../../driver-error.ts';
import { copyGuestTreeInto } from '../copy-tree.ts';
import type { LimitForm, StorageDriver, UnpackImage } from '../driver.ts';
import { run } from '../mounted/mounts.ts';
import { staysMounted, isWritten, MountedTrees, type MountedDeps, type Place } from '../mounted/trees.ts';
import { missingProgram } from '../programs.ts';
import { openTreeDriver } from '../trees/driver.ts';
import { commands, limitsIn } from './commands.ts';
import {
  cephfsResources,
  createCephfsPool,
  deleteCephfsPool,
  fillCephfsConfig,
  findCephfsPool,
  kernelMounts,
  mountCephfsPool,
  mountIn,
  type CephfsMounts,
} from './pool.ts';
import { CephfsStore } from './store.ts';

export interface CephfsStorageDeps extends MountedDeps {
  readonly unpackImage: UnpackImage;
  /** Default: those of the kernel. */
  readonly mounts?: CephfsMounts;
}

const programs = [
  ...['ceph', 'mount.ceph'].map((program) => [program, 'ceph-common'] as const),
  ...['getfattr', 'setfattr'].map((program) => [program, 'attr'] as const),
] as const;

export async function cephfsMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'cephfs pools need root';
  const missing = await missingProgram(programs);
  if (missing !== undefined) return missing;
  const hasModule = await exec(['modprobe', 'ceph']).then(
    () => true,
    () => false,
  );
  return hasModule ? undefined : 'the kernel of this host has no module ceph';
}

class CephfsTrees extends MountedTrees {
  readonly #store: CephfsStore;

  constructor(store: CephfsStore, deps: MountedDeps) {
    super(store, deps);
    this.#store = store;
  }

  override async mount({ pool, path, id }: Place): Promise<void> {
    await this.#bind(path, await this.#files({ pool, path, id }), isWritten(id));
  }

  async #files({ pool, id }: Place): Promise<string> {
    const found = await this.#store.find(pool, id);
    if (found === undefined) throw driverErrors.notFound(`there is no ${id} in pool ${pool.name}`);
    return found;
  }

  async #bind(path: string, from: string, isWrittenTo: boolean): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await run(commands.bind(from, path, isWrittenTo));
  }

  async make(path: string): Promise<void> {
    const { pool, id } = this.place(path);
    await this.#bind(path, await this.#store.make(pool, id), true);
    await chmod(path, 0o700);
  }

  async copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    await this.make(to);
    await this.withFiles(from, () => copyGuestTreeInto(from, to, true, signal));
  }

  async snapshot(from: string, to: string): Promise<void> {
    const [source, target] = [this.place(from), this.place(to)];
    await this.#store.snapshot(source.pool, source.id, target.id);
  }

  async limit(path: string, bytes: number | undefined, { mustHold = false }: LimitForm): Promise<void> {
    const files = await this.#files(this.place(path));
    const used = mustHold && bytes !== undefined ? Number((await run(commands.sizes(files))).stdout) : 0;
    if (bytes !== undefined && used > bytes)
      throw driverErrors.invalid(`it holds ${used} bytes, more than ${bytes}: delete files, or give it more`);
    await run(commands.limit(files, bytes ?? 0));
  }

  /** As counted by the file system, some seconds late. */
  async used(path: string): Promise<number> {
    return Number((await run(commands.used(await this.#files(this.place(path))))).stdout);
  }

  async limits(root: string): Promise<ReadonlyMap<string, number>> {
    const { pool } = this.place(root);
    const ids = (await this.#store.list(pool)).map(({ id }) => id).filter(staysMounted);
    if (ids.length === 0) return new Map();
    const paths = ids.map((id) => [join(mountIn(root), id, 'data'), id] as const);
    // Code 1: one of them has none.
    const shown = await exec(commands.limits(paths.map(([path]) => path)), {
      okCodes: [0, 1],
      maxBytes: 64 * 1_048_576,
    });
    const found = limitsIn(shown.stdout);
    return new Map(
      paths.flatMap(([path, id]) => {
        const limit = found.get(path);
        return limit === undefined ? [] : [[id, limit] as const];
      }),
    );
  }

  kind() {
    return {
      ...this.mounted(),
      makeTree: (path: string) => this.make(path),
      copyTree: (from: string, to: string, _by: 'settled' | 'guest', signal: AbortSignal) =>
        this.copy(from, to, signal),
      importTree: (from: string, to: string, signal: AbortSignal) => this.copy(from, to, signal),
      atomic: {
        // A snapshot is of a volume; one of another snapshot is a copy.
        isWhole: (path: string) => Promise.resolve(staysMounted(this.place(path).id)),
        snapshot: (from: string, to: string) => this.snapshot(from, to),
        drop: (path: string) => this.remove(path),
        // It is only mounted read-only.
        seal: () => Promise.resolve(),
      },
      usedIn: (path: string) => this.used(path),
      limitTree: (path: string, bytes: number | undefined, how: LimitForm) => this.limit(path, bytes, how),
      limitsIn: (root: string) => this.limits(root),
    };
  }
}

export function openCephfsStorage(deps: CephfsStorageDeps): StorageDriver {
  const { mounts = kernelMounts } = deps;
  const store: CephfsStore = new CephfsStore((pool) => mountIn(trees.root(pool)));
  const trees: CephfsTrees = new CephfsTrees(store, deps);
  const parts = { root: deps.root, store, trees, mounts };
  return openTreeDriver(
    {
      ...trees.kind(),
      name: 'cephfs',
      capabilities: { cheapCopies: false, quotas: true, snapshots: true },
      fillConfig: fillCephfsConfig,
      findPool: (pool) => findCephfsPool(mounts, pool),
      createPool: (pool) => createCephfsPool(parts, pool),
      deletePool: (pool) => deleteCephfsPool(parts, pool),
      applyConfig: () => Promise.resolve(),
      mountPool: (pool, busy) => mountCephfsPool(parts, pool, busy),
      resources: (pool) => cephfsResources(mountIn(trees.root(pool))),
    },
    { ...deps, ownership: 'keep' },
  );
}
