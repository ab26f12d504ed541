// Cluster membership as clients see and change it (spec 2.16 and 4.13): forming, joining and the members.
import type {
  Cluster as ClusterObject,
  ClusterAccept,
  ClusterAccepted,
  ClusterMember,
  ClusterPut,
} from '../../api/cluster/cluster.ts';
import { AppError, errors } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import type { Problem } from '../../api/problem.ts';
import type { Member } from '../../membership/members.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { statusOfMember } from '../../membership/member-status.ts';
import { isTrustedCaller, type Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { settingOf } from '../shared/settings.ts';
import { accept } from './accept.ts';
import { bootstrap } from './bootstrap.ts';
import type { ClusterUseCaseDeps } from './deps.ts';
import { leave, endMembership } from './leave.ts';
import { checkEmpty, join, planJoin } from './join.ts';
import { JoinTokens } from './join-tokens.ts';
import { type Removal, removeMember } from './remove.ts';
import { renameMember } from './rename-member.ts';
import { memberAddress } from './member-address.ts';
import { askedOfHosts } from './joining/member-config.ts';
import { checkMemberName } from './member-name.ts';

const noResources = { cluster: [] as readonly string[] };

export class ClusterMembership {
  readonly tokens: JoinTokens;
  readonly #deps: ClusterUseCaseDeps;
  #isChanging = false;
  /** Work that ends after this host has left its cluster: the next change of its membership waits for it. */
  #settled: Promise<void> = Promise.resolve();

  constructor(deps: ClusterUseCaseDeps) {
    this.#deps = deps;
    this.tokens = new JoinTokens(deps);
  }

  /** Only trusted callers may see which pools and networks exist. */
  get(caller: Caller): { readonly object: ClusterObject; readonly etag: string } {
    const { cluster, records } = this.#deps;
    const asked = cluster.isOn && isTrustedCaller(caller) ? askedOfHosts(records) : [];
    const object = { server_name: cluster.isOn ? cluster.ownName : '', enabled: cluster.isOn, member_config: asked };
    return { object, etag: etagOf.cluster(object) };
  }

  change(caller: Caller, body: ClusterPut, ifMatch: string | undefined): Operation | undefined {
    const problems = problemsOf(body);
    if (problems.length > 0) throw errors.invalid('cluster membership', problems);
    checkIfMatch(ifMatch, this.get(caller).etag, 'server', 'cluster membership');
    const { cluster, records } = this.#deps;
    if (!body.enabled) {
      if (!cluster.isOn) return undefined;
      throw errors.badRequest('A member leaves its cluster by DELETE /1.0/cluster/members/NAME, sent to any member');
    }
    const name = body.server_name ?? '';
    if (cluster.isOn)
      throw errors.badRequest(`This host is the member ${cluster.ownName} of a cluster already: remove it there first`);
    checkMemberName(name);
    const address = this.#ownAddress(body);
    const isJoin = [body.cluster_address, body.cluster_token].some((text) => text !== undefined && text !== '');
    if (!isJoin) return this.#start('Creating a cluster', () => bootstrap(this.#deps, name, address), caller);
    const plan = planJoin(name, body);
    checkEmpty(records);
    return this.#start('Joining a cluster', () => join(this.#deps, name, address, plan), caller);
  }

  /** Another member removes this one. The membership ends here after that request has its answer. */
  async leave(caller: Caller): Promise<void> {
    if (this.#isChanging) throw errors.badRequest('The membership of this host is being changed already');
    this.#isChanging = true;
    try {
      await leave(this.#deps);
    } finally {
      this.#isChanging = false;
    }
    const { events, log } = this.#deps;
    this.#settled = new Promise((resolve) => setImmediate(resolve))
      .then(() => endMembership(this.#deps))
      .catch((error: unknown) =>
        log.error(
          `This host has left its cluster, but serves as before until it is started again: ${errorText(error)}`,
        ),
      );
    events.lifecycle('cluster-disabled', '/1.0/cluster', caller);
  }

  accept(caller: Caller, body: ClusterAccept, signal: AbortSignal): Promise<ClusterAccepted> {
    return accept(this.#deps, caller, body, signal);
  }

  members(): readonly ClusterMember[] {
    const all = this.#deps.cluster.members.list();
    return all.map((member) => this.#render(member, all));
  }

  /** Names, in order. */
  names(): readonly string[] {
    return this.#deps.cluster.members.list().map(({ name }) => name);
  }

  member(name: string): { readonly object: ClusterMember; readonly etag: string } {
    const object = this.#render(this.find(name), this.#deps.cluster.members.list());
    return { object, etag: etagOf.member(object) };
  }

  async rename(caller: Caller, name: string, to: string): Promise<void> {
    const { records, events } = this.#deps;
    this.find(name);
    await renameMember(records, name, to);
    events.lifecycle('cluster-member-renamed', `/1.0/cluster/members/${to}`, caller, { old_name: name });
  }

  remove(caller: Caller, name: string, removal: Removal): Operation {
    return removeMember(this.#deps, caller, this.find(name), removal);
  }

  /** Throws AppError notFound; outside a cluster there are no members. */
  find(name: string): Member {
    const member = this.#deps.cluster.members.get(name);
    if (member !== undefined) return member;
    const why = this.#deps.cluster.isOn ? '' : ': this server is not part of a cluster';
    throw new AppError('notFound', `There is no cluster member ${name}${why}`);
  }

  /** At most one change of membership at a time. */
  #start(description: string, run: () => Promise<void>, caller: Caller): Operation {
    if (this.#isChanging) throw errors.badRequest('The membership of this host is being changed already');
    this.#isChanging = true;
    return this.#deps.operations.start({
      description,
      resources: noResources,
      run: async () => {
        try {
          await this.#settled;
          await run();
        } finally {
          this.#isChanging = false;
        }
        this.#deps.events.lifecycle('cluster-enabled', '/1.0/cluster', caller);
      },
    });
  }

  /** Where the others reach this host. Throws AppError badRequest. */
  #ownAddress({ server_address: requested = '' }: ClusterPut): string {
    const { records } = this.#deps;
    const own = settingOf(records, 'cluster.https_address') || settingOf(records, 'core.https_address');
    const text = requested === '' ? own : requested;
    if (text === '')
      throw errors.invalid('cluster membership', [
        {
          path: 'server_address',
          message:
            'is required, or set cluster.https_address or core.https_address: where do the other members reach this host?',
        },
      ]);
    const found = memberAddress(requested === '' ? 'core.https_address' : 'server_address', text);
    if ('problem' in found) throw errors.invalid('cluster membership', [found.problem]);
    return found.address;
  }

  #render(member: Member, all: readonly Member[]): ClusterMember {
    const { document } = member;
    const minVersion = this.#deps.records.cluster.get('config')?.document.minVersion ?? '0.0.0';
    const roles = rolesFor[this.#deps.etcdRoleOf(member.address) ?? 'vote'];
    return {
      server_name: member.name,
      url: `https://${member.address}`,
      database: roles.includes('database'),
      ...statusOfMember(member, all, { minVersion, silentSince: this.#deps.cluster.silentSince }),
      roles: [...roles],
      failure_domain: document.failureDomain ?? 'default',
      description: document.description ?? '',
      config: { ...document.config },
      groups: [...(document.groups ?? ['default'])],
      architecture: document.architecture,
    };
  }
}

/** LXD's role names. If the members do not run the store themselves, they are all equal. */
const rolesFor: Readonly<Record<'vote' | 'copy' | 'none', readonly string[]>> = {
  vote: ['database'],
  copy: ['database-standby'],
  none: [],
};

function problemsOf({ enabled, server_name: name = '' }: ClusterPut): readonly Problem[] {
  if (enabled && name === '') return [{ path: 'server_name', message: 'must be set when enabled is true' }];
  if (!enabled && name !== '') return [{ path: 'server_name', message: 'must be empty when enabled is false' }];
  return [];
}
