// Guards every change: checks the caller's right for the set and the hosts of the request, and writes the audit log.
import type { Controller } from '../../controller.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import type { AuditEntry, Right } from '../../contract/index.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Endpoint } from '../endpoints.ts';
import { Refusal, toRefusal } from '../refusal.ts';
import type { HttpSettings } from '../settings.ts';
import type { ApiCaller } from './authenticator.ts';
import { allows, hostsOfSet, type Grantee } from './grants.ts';
import { scopeOf, type Scope } from './scope.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface GateDeps {
  readonly controller: Pick<Controller, 'overview'>;
  readonly settings: Pick<HttpSettings, 'auth'>;
  readonly audit: AuditLog | undefined;
}

export interface RequestedChange {
  readonly endpoint: Pick<Endpoint, 'id' | 'right'>;
  readonly caller: ApiCaller;
  readonly from: string;
  readonly set?: string | undefined;
  readonly hosts?: readonly string[] | undefined;
  readonly body?: unknown;
}

export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Checked before the body of the request is read. */
  mayAsk(right: Right, caller: ApiCaller, set: string | undefined): boolean {
    const wanted = set === undefined ? { right } : { right, set };
    return allows(this.#grants(), granteeOf(caller), wanted);
  }

  /** The sets that the caller may see. */
  scopeOf(caller: ApiCaller): Scope {
    return scopeOf(this.#grants(), granteeOf(caller));
  }

  /** Records a change that the caller has no right to at all. */
  async noteDenied(asked: RequestedChange, error: unknown): Promise<void> {
    if (asked.endpoint.right === undefined) return;
    const entry = { ...this.#noteOf(asked), outcome: 'denied', message: toRefusal(error).message } as const;
    // The change is refused anyway, so a failed entry is no reason to fail.
    await this.#deps.audit?.add(entry).catch(() => undefined);
  }

  /** Throws Refusal. Writes no audit entry. */
  allow(asked: RequestedChange): void {
    const denied = this.#denied(asked);
    if (denied !== undefined) throw denied;
  }

  /** For what lasts: whether a change that was allowed still is. */
  isAllowed(asked: RequestedChange): boolean {
    return this.#denied(asked) === undefined;
  }

  /** Does the work of an allowed change, with audit entries before and after it. Throws Refusal. */
  async change<T>(asked: RequestedChange, work: () => Promise<T>): Promise<T> {
    const { audit } = this.#deps;
    const note = this.#noteOf(asked);
    const denied = this.#denied(asked);
    if (denied !== undefined) {
      await this.#write(() => audit?.add({ ...note, outcome: 'denied', message: denied.message }));
      throw denied;
    }
    const id = await this.#write(() => audit?.add({ ...note, outcome: 'asked' }));
    const end = async (more: Pick<AuditEntry, 'outcome' | 'message'>): Promise<void> => {
      // The change is done: a missing second entry cannot undo it.
      if (id !== undefined) await audit?.add({ ...note, id, ...more }).catch(() => undefined);
    };
    try {
      const result = await work();
      await end({ outcome: 'done' });
      return result;
    } catch (error) {
      await end({ outcome: 'refused', message: toRefusal(error).message });
      throw error;
    }
  }

  async #write<T>(work: () => Promise<T> | undefined): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      throw new Refusal(
        'unavailable',
        `Nothing was changed, since the audit log cannot be written: ${reasonOf(error)}; make room in the state directory`,
      );
    }
  }

  #grants() {
    return this.#deps.settings.auth?.grants ?? [];
  }

  #denied({ endpoint, caller, set, hosts, body }: RequestedChange): Refusal | undefined {
    const overview = this.#deps.controller.overview();
    const facts = set === undefined ? hostsOfSet(overview, '', hosts ?? []) : hostsOfSet(overview, set, hosts);
    const rights = this.#rightsOf(endpoint, set, body);
    const missing = rights.find(
      (right) => !allows(this.#grants(), granteeOf(caller), { right, ...withoutUndefined({ set }), hosts: facts }),
    );
    if (missing === undefined) return undefined;
    const where = facts.map(({ name }) => name).slice(0, 5);
    return new Refusal(
      'forbidden',
      `${caller.name ?? 'The caller'} has no right to ${missing}${set === undefined ? '' : ` the set ${set}`} on all of ${where.join(', ')}${facts.length > where.length ? ' and others' : ''}: auth.grants of gantry.yaml gives it`,
    );
  }

  /** A resume without an id also ends a rollback, so it needs that right too. */
  #rightsOf({ id, right }: RequestedChange['endpoint'], set: string | undefined, body: unknown): readonly Right[] {
    if (right === undefined) return [];
    if (id !== 'resume') return [right];
    const { id: which } = Object(body) as { readonly id?: string };
    if (which === 'rollback') return ['rollback'];
    const found = this.#deps.controller.overview().sets.find(({ name }) => name === set);
    const isHeld = which === undefined && found?.suspensions.some((one) => one.id === 'rollback') === true;
    return isHeld ? [right, 'rollback'] : [right];
  }

  #noteOf({
    endpoint,
    caller,
    from,
    set,
    hosts,
    body,
  }: RequestedChange): Omit<AuditEntry, 'id' | 'number' | 'at' | 'outcome'> {
    const { reason, ...request } = Object(body) as { readonly reason?: string };
    return {
      who: caller.name ?? 'anonymous',
      from,
      via: caller.via,
      what: endpoint.id,
      ...withoutUndefined({ set }),
      ...(hosts === undefined ? {} : { hosts: [...hosts] }),
      ...withoutUndefined({ why: reason }),
      ...(Object.keys(request).length === 0 ? {} : { request: { ...request } }),
    };
  }
}

export const granteeOf = ({ role, token, session }: ApiCaller): Grantee => {
  const user = token ?? session?.token;
  return {
    ...withoutUndefined({ role, token: user }),
    ...(session?.groups === undefined ? {} : { groups: session.groups }),
  };
};
