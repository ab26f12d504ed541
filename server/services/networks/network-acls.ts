// Network ACLs: the use cases of the API. A change updates the networks of this host that use the ACL; each member of a cluster follows.
import { isDeepStrictEqual } from 'node:util';
import { networkAclName } from '../../api/names.ts';
import { freeKey, plainRule } from '../../api/network/network-acl.ts';
import type { NetworkAcl, NetworkAclCreate, NetworkAclPut, NetworkAclRule } from '../../api/network/network-acl.ts';
import { validateNetworkAcl } from '../../api/network/validate-network-acl.ts';
import { errors, mustFind, checkName } from '../../api/errors.ts';
import { DriverError } from '../../drivers/driver-error.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { NetworkAclDocument } from '../../records/documents.ts';
import type { Entry } from '../../records/records.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { mergeConfig, replaceConfig } from '../shared/patch.ts';
import { aclsOf, aclUsers, networkSpec } from './network-spec.ts';
import { networkLock } from './networks.ts';
import type { ServiceParts } from '../shared/service-parts.ts';

export interface NetworkAclsDeps extends Pick<ServiceParts, 'records' | 'events' | 'locks' | 'log'> {
  readonly network: Pick<NetworkDriver, 'setRules'>;
}

export const networkAclUrl = (name: string): string => `/1.0/network-acls/${encodeURIComponent(name)}`;
const aclLock = (name: string): string => `network-acl/${name}`;

export class NetworkAcls {
  readonly #deps: NetworkAclsDeps;

  constructor(deps: NetworkAclsDeps) {
    this.#deps = deps;
  }

  names(): readonly string[] {
    return this.#deps.records.networkAcls.list().map(({ name }) => name);
  }

  list(): readonly NetworkAcl[] {
    return this.#deps.records.networkAcls.list().map((entry) => this.#render(entry));
  }

  get(name: string): { readonly object: NetworkAcl; readonly etag: string } {
    const entry = this.#find(name);
    return { object: this.#render(entry), etag: etagOf.networkAcl(entry.document) };
  }

  async create(caller: Caller, body: NetworkAclCreate): Promise<void> {
    const { name } = body;
    checkName('network ACL', name, networkAclName);
    const document = replaced(body);
    check(name, document);
    await this.#deps.records.retry((changes) => {
      if (this.#deps.records.networkAcls.has(name)) throw errors.exists('network ACL', name);
      changes.put('networkAcls', name, document);
    });
    this.#deps.events.lifecycle('network-acl-created', networkAclUrl(name), caller);
  }

  put(caller: Caller, name: string, body: NetworkAclPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, () => replaced(body));
  }

  patch(caller: Caller, name: string, body: NetworkAclPut, ifMatch: string | undefined): Promise<void> {
    return this.#change(caller, name, ifMatch, (document) => ({
      ...document,
      description: body.description ?? document.description,
      config: mergeConfig(document.config, body.config, freeKey),
      ingress: (body.ingress ?? document.ingress).map(plainRule),
      egress: (body.egress ?? document.egress).map(plainRule),
    }));
  }

  async rename(caller: Caller, name: string, to: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      const { document } = this.#find(name);
      checkName('network ACL', to, networkAclName);
      if (this.#deps.records.networkAcls.has(to)) throw errors.exists('network ACL', to);
      this.#refuseUsed(name);
      changes.delete('networkAcls', name);
      changes.put('networkAcls', to, document);
    });
    this.#deps.events.lifecycle('network-acl-renamed', networkAclUrl(name), caller, { new_name: to });
  }

  async delete(caller: Caller, name: string): Promise<void> {
    await this.#deps.records.retry((changes) => {
      this.#find(name);
      this.#refuseUsed(name);
      changes.delete('networkAcls', name);
    });
    this.#deps.events.lifecycle('network-acl-deleted', networkAclUrl(name), caller);
  }

  /** Networks of this host follow ACL changes by other members of the cluster. */
  follow(): () => void {
    const { records, log } = this.#deps;
    return records.onShared((kind, name) => {
      if (kind !== 'networkAcls' || !records.networkAcls.has(name)) return;
      void this.#apply(name).catch((error: unknown) => {
        log.error(`The changed network ACL ${name} could not be applied: ${errorText(error)}`);
      });
    });
  }

  async #change(
    caller: Caller,
    name: string,
    ifMatch: string | undefined,
    next: (document: NetworkAclDocument) => NetworkAclDocument,
  ): Promise<void> {
    await this.#deps.locks.run(aclLock(name), async () => {
      const { before, wanted } = await this.#commit(name, ifMatch, next);
      try {
        // After a crash before this, the next start applies the recorded rules to networks.
        await this.#apply(name);
      } catch (error) {
        await this.#undo(name, wanted, before).catch((failed: unknown) => {
          const change = `The failed change of the network ACL ${name}`;
          this.#deps.log.error(`${change} (${errorText(error)}) could not be undone: ${errorText(failed)}`);
        });
        throw error;
      }
    });
    this.#deps.events.lifecycle('network-acl-updated', networkAclUrl(name), caller);
  }

  /** Decides on the current document at each attempt, so that no change of another member is lost. Throws AppError notFound if it was deleted
   *  or renamed meanwhile, precondition failed if it is no longer the one of `ifMatch`. */
  #commit(
    name: string,
    ifMatch: string | undefined,
    next: (document: NetworkAclDocument) => NetworkAclDocument,
  ): Promise<{ readonly before: NetworkAclDocument; readonly wanted: NetworkAclDocument }> {
    return this.#deps.records.retry((changes) => {
      const { document: before } = this.#find(name);
      checkIfMatch(ifMatch, etagOf.networkAcl(before), 'network ACL', name);
      const wanted = next(before);
      check(name, wanted);
      changes.put('networkAcls', name, wanted);
      return { before, wanted };
    });
  }

  async #undo(name: string, wanted: NetworkAclDocument, before: NetworkAclDocument): Promise<void> {
    await this.#takeBack(name, wanted, before);
    await this.#apply(name);
  }

  /** A change that another member made meanwhile stays. */
  #takeBack(name: string, wanted: NetworkAclDocument, before: NetworkAclDocument): Promise<void> {
    return this.#deps.records.retry((changes) => {
      if (isDeepStrictEqual(this.#find(name).document, wanted)) changes.put('networkAcls', name, before);
    });
  }

  /** Updates the networks of this host. One that is down takes the rules when it comes up. */
  async #apply(acl: string): Promise<void> {
    const { records, network, locks } = this.#deps;
    const users = records.networks.list().filter(({ document }) => aclsOf(document.config).includes(acl));
    for (const { name } of users)
      await locks.run(networkLock(name), async () => {
        const document = records.networks.get(name)?.document;
        if (document?.lifecycle !== 'ready') return;
        try {
          await network.setRules(networkSpec(records, name, document.config));
        } catch (error) {
          if (!(error instanceof DriverError && error.code === 'NotFound')) throw error;
        }
      });
  }

  #refuseUsed(name: string): void {
    const users = aclUsers(this.#deps.records, name);
    if (users.length > 0) throw errors.inUse('network ACL', name, users);
  }

  #find(name: string): Entry<NetworkAclDocument> {
    return mustFind(this.#deps.records.networkAcls.get(name), 'network ACL', name);
  }

  #render({ name, document }: Entry<NetworkAclDocument>): NetworkAcl {
    const users = aclUsers(this.#deps.records, name);
    return {
      name,
      description: document.description,
      ingress: [...document.ingress],
      egress: [...document.egress],
      config: { ...document.config },
      used_by: users.map((network) => `/1.0/networks/${encodeURIComponent(network)}`),
    };
  }
}

const rulesOf = (rules: readonly NetworkAclRule[] | null | undefined): readonly NetworkAclRule[] =>
  (rules ?? []).map(plainRule);

const replaced = ({ description = '', config, ingress, egress }: NetworkAclPut): NetworkAclDocument => ({
  v: 1,
  description,
  config: replaceConfig(config, freeKey),
  ingress: rulesOf(ingress),
  egress: rulesOf(egress),
});

function check(name: string, { config, ingress, egress }: NetworkAclDocument): void {
  const problems = validateNetworkAcl({ config, ingress: [...ingress], egress: [...egress] });
  if (problems.length > 0) throw errors.invalid(`network ACL ${name}`, problems);
}
