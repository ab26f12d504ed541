// Applies the cluster's keys in this daemon: at its start, also when it missed a change, and while it runs.
import { askPeers } from '../../membership/keys/ask-peers.ts';
import type { ClusterKeys } from '../../membership/keys/cluster-keys.ts';
import type { MemberIdentity } from '../../membership/keys/identity.ts';
import type { EtcdIssuers } from '../../membership/etcd/certificates.ts';
import { type Membership, readMembership } from '../../membership/membership.ts';
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { CurrentStore } from './current-store.ts';
import type { OwnEtcd } from './own-etcd.ts';
import { etcdSettings } from './store-choice.ts';

export interface KeyUseDeps {
  readonly stateDir: string;
  readonly keys: ClusterKeys;
  readonly identity: Pick<MemberIdentity, 'current'>;
  readonly log: Log;
}

export class KeyUse {
  readonly #deps: KeyUseDeps;
  /** Undefined until the store is first opened. */
  stores: CurrentStore | undefined;
  #ownEtcd: OwnEtcd | undefined;
  /** It has newer keys that it does not use yet. */
  #isBehind = false;

  constructor(deps: KeyUseDeps) {
    this.#deps = deps;
  }

  get vault(): ClusterKeys {
    return this.#deps.keys;
  }

  get issuers(): EtcdIssuers {
    return this.#deps.keys.issuers;
  }

  /** Call before the etcd of this host runs, and the store is opened. */
  async begin({ number, address, store }: Membership, ownEtcd: OwnEtcd): Promise<void> {
    const { keys } = this.#deps;
    this.#ownEtcd = ownEtcd;
    await keys.load(number);
    await this.#takeNewer();
    // A crash may have come between the keys and the files made from them.
    if (store.own === true && keys.followed !== undefined && address !== undefined)
      await ownEtcd.storeFor(address, store.address);
  }

  /** Called while the store does not answer: does nothing if no other member answers. */
  readonly catchUp = async (): Promise<void> => {
    try {
      if (await this.#takeNewer()) this.#isBehind = true;
      if (!this.#isBehind || this.#ownEtcd === undefined) return;
      await this.use(this.#ownEtcd);
      this.#isBehind = false;
    } catch (error) {
      this.#deps.log.warn(`Taking the newer keys of the cluster failed: ${errorText(error)}`);
    }
  };

  /** Applies changed keys. Throws if the etcd of this host does not serve with them. */
  async use(ownEtcd: OwnEtcd): Promise<void> {
    const { address } = (await readMembership(this.#deps.stateDir)) ?? {};
    if (address === undefined) return;
    await ownEtcd.renew(address, async () => {
      const { store } = (await readMembership(this.#deps.stateDir)) ?? {};
      if (store?.own === true) this.stores?.useTls((await etcdSettings(store)).tls);
    });
  }

  /** True: this member has new keys. */
  async #takeNewer(): Promise<boolean> {
    const { keys, identity, log } = this.#deps;
    if (identity.current === undefined || keys.peers.length === 0) return false;
    const found = await askPeers(identity.current, keys.peers);
    if (found === undefined || !keys.isNewer(found)) return false;
    await keys.take(found);
    await keys.follow(found);
    log.info(
      `The keys of the cluster have changed while this member was away: it has taken those of generation ${found.generation}`,
    );
    return true;
  }
}
