// Where a cluster keeps its records: opens such stores, and describes them for joining hosts.
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errors } from '../../api/errors.ts';
import type { ClusterKeys } from '../../membership/keys/cluster-keys.ts';
import { clusterDir, type ClusterStore } from '../../membership/membership.ts';
import { writeDurably } from '../../lib/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { ClusterStores, MemberFence, OpenedClusterStore } from '../../services/cluster/deps.ts';
import type { CurrentStore } from './current-store.ts';
import type { OwnEtcd } from './own-etcd.ts';
import { absolute, followedStore, writerOf } from './open-store.ts';
import { type EtcdChoice, etcdSettings } from './store-choice.ts';

export interface ClusterStoresDeps {
  readonly stateDir: string;
  readonly configured: EtcdChoice | undefined;
  readonly own: OwnEtcd;
  readonly keys: ClusterKeys;
  readonly current: CurrentStore;
  readonly log: Log;
}

/** Names of the files in the directory of the cluster. */
const files = { ca: 'store-ca.pem', cert: 'store-cert.pem', key: 'store-key.pem', login: 'store-login' } as const;
type FileFlag = keyof typeof files;
const flags = Object.keys(files) as readonly FileFlag[];

export class EtcdClusterStores implements ClusterStores, MemberFence {
  readonly #deps: ClusterStoresDeps;

  constructor(deps: ClusterStoresDeps) {
    this.#deps = deps;
  }

  async found(address: string): Promise<ClusterStore> {
    const { configured, own } = this.#deps;
    if (configured !== undefined) return absolute(configured);
    return await own.found(address, randomUUID()).catch((error: unknown) => {
      throw errors.badRequest(
        `A cluster keeps its records in etcd: ${errorText(error)}; or start gantryd with --cluster-store and the address of one`,
      );
    });
  }

  async open(choice: ClusterStore, member: number): Promise<OpenedClusterStore> {
    const { current, log } = this.#deps;
    const [{ openEtcdStore }, { SealedStore }, { Compactor }] = await Promise.all([
      import('../../store/etcd/etcd.ts'),
      import('../../store/sealed.ts'),
      import('../../store/etcd/compactor.ts'),
    ]);
    const settings = await etcdSettings(choice);
    const store = new SealedStore(
      await openEtcdStore({ ...settings, writer: writerOf(member), forImport: true }),
      this.#deps.keys,
    );
    return {
      store,
      begin: () => store.beginImport(false),
      finish: async () => void (await store.finishImport()),
      use: () => current.replace(followedStore(store, new Compactor({ store, log }), log)),
      abandon: () => store.close(),
    };
  }

  async fenceOut(member: number): Promise<void> {
    await this.#deps.current.fenceOut(writerOf(member));
  }

  async share(choice: ClusterStore): Promise<Awaited<ReturnType<ClusterStores['share']>>> {
    if (choice.own === true) return { address: choice.address, own: true };
    const contents = await Promise.all(
      flags.map(async (flag) => {
        const path = choice[flag];
        return path === undefined ? [] : [[flag, await readFile(path, 'utf8')] as const];
      }),
    );
    return { address: choice.address, ...Object.fromEntries(contents.flat()) };
  }

  async keep(
    { address, own, ...shared }: Awaited<ReturnType<ClusterStores['share']>>,
    memberAddress: string,
  ): Promise<ClusterStore> {
    if (own === true) return await this.#deps.own.storeFor(memberAddress, address);
    const dir = clusterDir(this.#deps.stateDir);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await chmod(dir, 0o700);
    const kept: Partial<Record<FileFlag, string>> = {};
    for (const flag of flags) {
      const text = shared[flag];
      if (text === undefined) continue;
      const path = join(dir, files[flag]);
      await writeDurably(path, text, 0o600);
      kept[flag] = path;
    }
    return { address, ...kept };
  }

  async withdraw(memberAddress: string): Promise<void> {
    await this.#deps.own.withdraw(memberAddress);
  }

  async forget(): Promise<void> {
    await this.#deps.own.forget();
    await this.#deps.keys.forget();
    const dir = clusterDir(this.#deps.stateDir);
    for (const name of Object.values(files)) await rm(join(dir, name), { force: true });
  }
}
