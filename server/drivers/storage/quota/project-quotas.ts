// Limits of directories by project quotas: every tree of a pool has a project of its own, which all that is made in it inherits.
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { driverErrors } from '../../driver-error.ts';
import { volumeFolder } from '../layout.ts';
import { adoptTree } from './adopt.ts';
import { loadQuotaCalls, type QuotaCalls } from './calls.ts';

/** LXD counts from 10,000, administrators from 1. */
const firstProject = 2 ** 24;
const lastProject = 2 ** 31;

interface QuotaRoot {
  readonly calls: QuotaCalls;
  /** No lower project is free. */
  next: number;
}

export class ProjectQuotas {
  /** Directories of pools where limits hold. */
  readonly #places = new Map<string, QuotaRoot>();
  readonly #load: () => Promise<QuotaCalls | undefined>;

  constructor(load: () => Promise<QuotaCalls | undefined> = loadIfMounted) {
    this.#load = load;
  }

  /** Checks whether limits hold in the directory of a pool. */
  async find(root: string): Promise<void> {
    const calls = await this.#load();
    this.#places.delete(root);
    // The caller that needs a missing directory reports it.
    if (calls !== undefined && ifThere(() => inDirectory(root, (fd) => canUse(calls, fd))) === true)
      this.#places.set(root, { calls, next: firstProject });
  }

  holdIn = (root: string): boolean => this.#places.has(root);

  /** Gives the empty directory, right in a folder of a pool, a project of its own. */
  begin(path: string): void {
    const place = this.#placeOf(path);
    if (place !== undefined) inDirectory(path, (fd) => place.calls.setProject(fd, freeProject(place, fd), true));
  }

  /** Gives it the project of another tree: files can only be shared within one project. */
  share(path: string, from: string): void {
    const place = this.#placeOf(path);
    const id = this.#project(from);
    if (place !== undefined && id !== 0) inDirectory(path, (fd) => place.calls.setProject(fd, id, true));
  }

  /** See TreeKind.limitTree. */
  async limit(path: string, bytes: number | undefined, mustHold: boolean): Promise<void> {
    const place = this.#placeOf(path);
    if (place === undefined) {
      if (bytes !== undefined) throw driverErrors.notSupported(cannotLimit);
      return;
    }
    if (bytes === undefined && this.#project(path) === 0) return;
    const id = await this.#wholeProject(place, path);
    inDirectory(path, (fd) => {
      const { used } = place.calls.quotaOf(fd, id);
      if (mustHold && bytes !== undefined && used > bytes)
        throw driverErrors.invalid(`it holds ${used} bytes, more than ${bytes}: delete files, or give it more`);
      place.calls.setLimit(fd, id, bytes);
    });
  }

  /** See TreeKind.limitsIn. */
  limitsIn(root: string): ReadonlyMap<string, number> {
    const place = this.#places.get(root);
    if (place === undefined) return new Map();
    const folders = [volumeFolder('container'), volumeFolder('custom')];
    const trees = folders.flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`));
    const limits = trees.map((tree) => [tree, this.#quota(join(root, tree))?.limit] as const);
    return new Map(limits.filter((each): each is readonly [string, number] => each[1] !== undefined));
  }

  /** Undefined: not known. */
  used = (path: string): number | undefined => this.#quota(path)?.used;

  /** Runs `remove`, which removes the tree; its project is free afterwards, unless another tree has it, too. */
  async forget(path: string, remove: () => Promise<void>): Promise<void> {
    const place = this.#placeOf(path);
    const id = place === undefined ? 0 : this.#project(path);
    await remove();
    if (place === undefined || id === 0) return;
    inDirectory(dirname(path), (fd) => {
      const { files, limit } = place.calls.quotaOf(fd, id);
      if (files > 0) return;
      if (limit !== undefined) place.calls.setLimit(fd, id, undefined);
      if (id >= firstProject) place.next = Math.min(place.next, id);
    });
  }

  /** Trees are right in folders of a pool. */
  #placeOf(path: string): QuotaRoot | undefined {
    return this.#places.get(dirname(dirname(path)));
  }

  /** 0: none of its own. */
  #project(path: string): number {
    const place = this.#placeOf(path);
    if (place === undefined) return 0;
    const own = (fd: number): number => {
      const { id, isInherited } = place.calls.projectOf(fd);
      return isInherited ? id : 0;
    };
    return ifThere(() => inDirectory(path, own)) ?? 0;
  }

  #quota(path: string) {
    const place = this.#placeOf(path);
    const id = this.#project(path);
    return place === undefined || id === 0
      ? undefined
      : ifThere(() => inDirectory(path, (fd) => place.calls.quotaOf(fd, id)));
  }

  /** A project that all of the tree has, also where it is older than the quotas, or a crash has cut this short. */
  async #wholeProject(place: QuotaRoot, path: string): Promise<number> {
    const own = this.#project(path);
    const id = inDirectory(path, (fd) => {
      if (own !== 0 && !place.calls.quotaOf(fd, own).isBeginning) return undefined;
      const begun = own === 0 ? freeProject(place, fd) : own;
      place.calls.setLimit(fd, begun, undefined, true);
      return begun;
    });
    if (id === undefined) return own;
    await adoptTree(place.calls, path, id);
    inDirectory(path, (fd) => place.calls.setLimit(fd, id, undefined));
    return id;
  }
}

/** Most hosts have no such mount, and do not load the kernel calls. */
async function loadIfMounted(): Promise<QuotaCalls | undefined> {
  const isMounted =
    process.platform === 'linux' && /[ ,]p(rj)?quota\b/.test(readFileSync('/proc/self/mountinfo', 'utf8'));
  return isMounted ? loadQuotaCalls() : undefined;
}

export const cannotLimit =
  'its file system has no project quotas in force: use ext4 with the features quota and project, or xfs, mounted with prjquota; or a pool of driver btrfs, lvm or zfs';

/** Projects of an administrator, which all below would inherit, are left alone. */
function canUse(calls: QuotaCalls, fd: number): boolean {
  try {
    // Reading another project's use shows that this process may set limits.
    calls.quotaOf(fd, firstProject);
    return calls.hold(fd) && !calls.projectOf(fd).isInherited;
  } catch {
    return false;
  }
}

/** An unused project; clears the limit that a removed tree left. Its caller uses it without yielding. */
function freeProject(place: QuotaRoot, fd: number): number {
  for (let id = place.next; id < lastProject; id += 1) {
    const { files, used, limit, isBeginning } = place.calls.quotaOf(fd, id);
    if (files > 0 || used > 0) continue;
    if (limit !== undefined || isBeginning) place.calls.setLimit(fd, id, undefined);
    place.next = id + 1;
    return id;
  }
  throw driverErrors.failed('the file system has no free project');
}

function inDirectory<T>(path: string, use: (fd: number) => T): T {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function ifThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
