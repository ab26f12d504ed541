// Pools or networks as requests see them: on a single host its own, in a cluster spread over its members.
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import type { Network } from '../../api/network/network.ts';
import { errors } from '../../api/errors.ts';
import type { StoragePool } from '../../api/storage/pool.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { DefinitionDocument } from '../../records/cluster-documents.ts';
import type { Records } from '../../records/records.ts';
import { replaceConfig } from '../shared/patch.ts';
import { Definitions } from './definitions.ts';
import { ofEachMember, type Realisation } from './definition-parts.ts';

interface MemberRequest {
  readonly isForwarded?: boolean;
  readonly query: object;
}

interface ObjectCreate {
  readonly name: string;
  readonly type: string;
  readonly config?: ConfigMap | null;
  readonly description?: string;
  readonly member_overrides?: Readonly<Record<string, ConfigMap>>;
}

interface ObjectChange {
  readonly config?: ConfigMap | null | undefined;
  readonly description?: string | undefined;
}

interface ObjectView {
  readonly name: string;
  readonly config: Readonly<Record<string, string>>;
  readonly locations: readonly string[];
}

export class ClusterObjects {
  readonly definitions: Definitions;
  readonly #records: Records;
  readonly #cluster: Cluster;
  readonly #on: Realisation;

  constructor(deps: {
    readonly records: Records;
    readonly cluster: Cluster;
    readonly on: Realisation;
    readonly log: ConstructorParameters<typeof Definitions>[0]['log'];
  }) {
    this.#records = deps.records;
    this.#cluster = deps.cluster;
    this.#on = deps.on;
    this.definitions = new Definitions({
      records: deps.records,
      members: deps.cluster.members,
      log: deps.log,
      on: deps.on,
    });
  }

  /** A target only stores that member's config, the way LXD clients begin. */
  async create(asked: MemberRequest, target = '', body: ObjectCreate, here: () => Promise<void>): Promise<void> {
    const { name, type, description = '', member_overrides: overrides = {} } = body;
    if (!this.#isSpread(asked)) {
      if (Object.keys(overrides).length > 0 && !this.#cluster.isOn)
        throw errors.invalid(`${this.#on.what} ${name}`, [
          { path: 'member_overrides', message: 'is for clusters, and this server is in none' },
        ]);
      await here();
      return;
    }
    const config = replaceConfig(body.config);
    const member = target === '' ? undefined : this.#cluster.members.get(target);
    if (target !== '' && member === undefined) throw errors.notFound('cluster member', target);
    if (member !== undefined) await this.definitions.define(member, { name, type, config });
    else await this.definitions.create({ name, type, config, description, overrides });
  }

  async change(asked: MemberRequest, name: string, here: () => Promise<void>): Promise<void> {
    if (!this.#isSpread(asked) || this.definitions.get(name) === undefined) await here();
    else if (targetOf(asked) !== '') await here();
    else await this.definitions.change(name, here);
  }

  async remove(asked: MemberRequest, name: string, here: () => Promise<void>): Promise<void> {
    if (!this.#isSpread(asked) || this.definitions.get(name) === undefined) await here();
    else await this.definitions.remove(name);
  }

  refuseRename(asked: MemberRequest, name: string): void {
    if (this.#isSpread(asked))
      throw errors.badRequest(
        `The ${this.#on.what} ${name} cannot be renamed in a cluster: create one with the new name`,
      );
  }

  /** The config of all members, without keys of single ones; with a target that member's view. */
  shown<T extends ObjectView>(object: T, target = ''): T {
    if (!this.#cluster.isOn || this.definitions.get(object.name) === undefined) return object;
    const config = target === '' ? this.#on.keys.split(object.config).shared : object.config;
    return { ...object, config, locations: this.definitions.locations(object.name) };
  }

  /** Allows only member-specific keys to change with a target, where the others would make the members differ, and only the others without.
   *  Throws AppError badRequest. `isWhole`: keys that the body omits are removed. */
  refuseMisplaced(asked: MemberRequest, name: string, body: ObjectChange, isWhole: boolean): void {
    this.refusePending(name);
    const target = targetOf(asked);
    const here = this.#on.here(name);
    if (!this.#cluster.isOn || here === undefined || this.definitions.get(name) === undefined) return;
    const { shared, own } = this.#on.keys.split(here.config);
    const sent = body.config ?? {};
    if (target === '') {
      if (this.#isSpread(asked)) this.#refuseOwn(name, sent, own);
      return;
    }
    const keys = isWhole ? [...Object.keys(shared), ...Object.keys(sent)] : Object.keys(sent);
    const changed = [...new Set(keys)].filter(
      (key) => !this.#on.keys.isOwn(key) && (shared[key] ?? '') !== (sent[key] ?? ''),
    );
    const problems = changed.map((key) => ({
      path: `config.${key}`,
      message: `is the same on all members: change it without target, and not on ${target} alone`,
    }));
    if (body.description !== undefined && body.description !== here.description)
      problems.push({ path: 'description', message: 'is the same on all members: change it without target' });
    if (problems.length > 0) throw errors.invalid(`${this.#on.what} ${name}`, problems);
  }

  /** The values of this member may be sent as they are. */
  #refuseOwn(name: string, sent: ConfigMap, own: ConfigMap): void {
    const key = Object.keys(sent).find(
      (each) => !each.startsWith('volatile.') && this.#on.keys.isOwn(each) && sent[each] !== own[each],
    );
    if (key !== undefined) throw ofEachMember(this.#on.what, name, key);
  }

  /** A replacement without any member-specific keys keeps the current ones. */
  withOwnKeys<T extends { readonly config?: ConfigMap | null | undefined }>(
    asked: MemberRequest,
    name: string,
    body: T,
  ): T {
    const here = this.#on.here(name);
    if (!this.#isSpread(asked) || here === undefined) return body;
    return { ...body, config: { ...body.config, ...this.#on.keys.split(here.config).own } };
  }

  /** No member has it yet. Throws AppError badRequest. */
  refusePending(name: string): void {
    const found = this.#pending().find((each) => each.name === name);
    if (found === undefined) return;
    const { locations } = this.#pendingPart(name, found.document);
    throw errors.badRequest(
      `The ${this.#on.what} ${name} is defined on ${locations.join(', ')} and not created yet: create it without target first; to change what it is defined with, delete it and define it again`,
    );
  }

  names(own: readonly string[]): readonly string[] {
    return [...own, ...this.#pending().map(({ name }) => name)];
  }

  pendingPools(target?: string): readonly StoragePool[] {
    return this.#pending().map(({ name, document }) => ({
      ...this.#pendingPart(name, document, target),
      driver: document.type,
    }));
  }

  pendingNetworks(target?: string): readonly Network[] {
    return this.#pending().map(({ name, document }) => ({
      ...this.#pendingPart(name, document, target),
      type: document.type,
      managed: true,
    }));
  }

  #pendingPart(name: string, document: DefinitionDocument, target = '') {
    const { members } = this.#cluster;
    const number = members.get(target)?.number;
    return {
      name,
      description: '',
      config: { ...(number === undefined ? {} : document.overrides[number]) },
      status: 'Pending',
      locations: Object.keys(document.overrides).map((each) => members.nameOf(Number(each))),
      used_by: [],
    };
  }

  /** Objects defined for some members, and realised on none yet. */
  #pending() {
    if (!this.#cluster.isOn) return [];
    return this.#records[this.#on.kind].list().filter(({ document }) => document.state === 'pending');
  }

  #isSpread({ isForwarded = false }: MemberRequest): boolean {
    return this.#cluster.isOn && !isForwarded;
  }
}

const targetOf = ({ query }: MemberRequest): string =>
  'target' in query && typeof query.target === 'string' ? query.target : '';
