// A daemon as plain data: applies the steps of a plan to a world, with the rules of the real one that plans depend on.
import type { Container } from '../../../server/api/container/container.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { splitList } from '../../../server/api/network/network-values.ts';
import { joinMark, startedAt } from '../../../reconciler/core/decide/decide-inside.ts';
import type { Json, JsonObject } from '../../../reconciler/core/documents/document.ts';
import { isStale, putBody } from '../../../reconciler/core/plan/apply-edits.ts';
import type { Live, Observed } from '../../../reconciler/core/documents/observed.ts';
import { mapOf, presentTexts } from '../../../reconciler/core/documents/json-values.ts';
import {
  hasConfig,
  isRelease,
  makeRecord,
  recordKey,
  recordsIn,
  renderRecord,
  withOwnership,
} from '../../../reconciler/core/ownership/owner-records.ts';
import type {
  CreateStep,
  ExecStep,
  FilesStep,
  Plan,
  SetOwner,
  Step,
  UpdateStep,
  SnapshotStep,
} from '../../../reconciler/core/plan/plan.ts';
import { emptySetState, type SetState } from '../../../reconciler/core/ownership/set-state.ts';
import {
  expanded,
  liveAlias,
  liveCertificate,
  liveContainer,
  liveImage,
  liveNetwork,
  livePool,
  liveProfile,
  liveProject,
  liveAcl,
  liveVolume,
} from './worlds.ts';

type Table = Map<string, Live<object>>;

/** `owner`: the set that the plan was made for. */
export function applyPlan(plan: Plan, observed: Observed, owner?: SetOwner): Observed {
  if (plan.guards.length > 0) throw new Error('a plan with guards is not applied');
  const model = new ModelDaemon(observed, owner);
  for (const step of plan.steps) model.run(step);
  return model.observed();
}

class ModelDaemon {
  readonly #tables: Record<KindName, Table>;
  readonly #server: Observed['server'];
  readonly #sets: Map<string, SetState>;
  readonly #owner: SetOwner | undefined;
  #starts = 0;
  constructor(observed: Observed, owner: SetOwner | undefined) {
    this.#server = observed.server;
    this.#sets = new Map(observed.sets);
    this.#owner = owner;
    this.#tables = {
      server_config: new Map([['server', { object: { name: 'server', config: observed.server.config ?? {} } }]]),
      certificate: new Map(observed.certificates),
      project: new Map(observed.projects),
      storage_pool: new Map(observed.pools),
      storage_volume: new Map(observed.volumes),
      network_acl: new Map(observed.acls),
      network: new Map(observed.networks),
      profile: new Map(observed.profiles),
      image: new Map(observed.images),
      image_alias: new Map(observed.aliases),
      container: new Map(observed.containers),
    };
  }

  observed(): Observed {
    const tables = this.#tables;
    const profiles = tables.profile as Map<string, Live<Profile>>;
    const containers = [...(tables.container as Map<string, Live<Container>>)].map(
      ([name, { object }]) => [name, { object: expanded(object, profiles) }] as const,
    );
    return {
      server: {
        ...this.#server,
        config: configOf(tables.server_config.get('server')?.object),
      },
      sets: this.#sets,
      containers: new Map(containers),
      profiles,
      acls: tables.network_acl as Map<string, never>,
      networks: tables.network as Map<string, never>,
      pools: tables.storage_pool as Map<string, never>,
      images: tables.image as Map<string, never>,
      aliases: tables.image_alias as Map<string, never>,
      volumes: tables.storage_volume as Map<string, never>,
      certificates: tables.certificate as Map<string, never>,
      projects: tables.project as Map<string, never>,
    };
  }

  /** The record of an object without config, as the engine stores it in the set's state. */
  #note(step: Step, object: JsonObject | undefined): void {
    if (this.#owner === undefined || hasConfig(step.kind)) return;
    const state = this.#sets.get(this.#owner.set) ?? emptySetState('test');
    const inventory = new Map(state.inventory);
    const owner = step.action === 'create' || step.action === 'update' ? step.owner : undefined;
    if (object === undefined || (owner !== undefined && isRelease(owner)))
      inventory.delete(`${step.kind}/${step.name}`);
    else if (owner !== undefined)
      inventory.set(`${step.kind}/${step.name}`, makeRecord(owner, object, this.#owner.hash));
    this.#sets.set(this.#owner.set, { ...state, inventory });
  }

  #owned(step: CreateStep | UpdateStep, body: JsonObject): JsonObject {
    return this.#owner === undefined ? body : withOwnership(step.kind, body, step.owner, this.#owner.hash);
  }

  run(step: Step): void {
    const table = this.#tables[step.kind];
    const live = table.get(step.name)?.object;
    if (step.action === 'create') {
      if (live !== undefined) throw new Error(`${step.id}: it exists`);
      table.set(step.name, { object: this.#made(step) });
      this.#note(step, step.body);
      return;
    }
    if (live === undefined) throw new Error(`${step.id}: there is nothing of that name`);
    if (step.action === 'update') {
      if (isStale(live, step)) throw new Error(`${step.id}: stale`);
      const body = this.#owned(step, putBody(step.kind, live, step.edits));
      this.#checkAcls(step, body);
      table.set(step.name, { object: stored(step.kind, { ...live, ...body }) });
      this.#note(step, body);
    } else if (step.action === 'rebuild') {
      table.set(step.name, { object: this.#made({ ...step, action: 'create' }) });
      for (const one of step.afterwards) this.run(one);
    } else if (step.action === 'files' || step.action === 'exec' || step.action === 'snapshot') {
      table.set(step.name, { object: this.#inside(step, live as Container & JsonObject) });
    } else if (step.action === 'delete') {
      this.#checkDelete(step, live);
      table.delete(step.name);
      this.#note(step, undefined);
    } else if (step.action !== 'wait') {
      const status =
        step.action === 'stop'
          ? { status: 'Stopped', status_code: 102 }
          : { status: 'Running', status_code: 103, last_used_at: `started ${(this.#starts += 1)} times` };
      table.set(step.name, { object: { ...live, ...status } });
    } else if ((live as Container).status_code !== 103) throw new Error(`${step.id}: waits for a stopped container`);
  }

  /** The inside of a container, where every command succeeds. */
  #inside(step: FilesStep | ExecStep | SnapshotStep, live: Container & JsonObject): object {
    if (step.action === 'files') {
      const files: Record<string, Json> = { ...mapOf(live['files']) };
      const contents: Record<string, Json> = { ...mapOf(live['contents']) };
      for (const { path, entry, content } of step.writes) {
        files[path] = entry.type === 'symlink' ? entry : { ...rootOwned, ...entry };
        if (content !== undefined) contents[path] = content;
      }
      for (const path of step.removes) delete files[path];
      return { ...live, files, contents };
    }
    if (step.action === 'snapshot') {
      return {
        ...live,
        snapshots: {
          ...mapOf(live['snapshots']),
          [step.snapshot]: { description: '', ...mapOf(mapOf(live['snapshots'])[step.snapshot]), ...step.spec },
        },
      };
    }
    if (live.status_code !== 103) throw new Error(`${step.id}: it does not run`);
    const { creates } = step.spec;
    const made = creates === undefined ? {} : { made: { ...mapOf(live['made']), [creates]: true } };
    const own = this.#owner === undefined ? undefined : recordsIn(live).get(this.#owner.set);
    if (step.mark === undefined || own === undefined || this.#owner === undefined) return { ...live, ...made };
    const { command, triggers, isPerStart, set } = step.mark;
    const mark = joinMark(this.#owner.hash, command, triggers, isPerStart ? startedAt(live) : '');
    const record = renderRecord({ ...own, ran: { ...own.ran, [step.exec]: mark } });
    return { ...live, ...made, config: { ...live.config, [recordKey(set)]: record } };
  }

  #made(step: CreateStep): object {
    const { kind, name } = step;
    const owned = this.#owned(step, step.body);
    const image = (owned['source'] as { fingerprint?: string; alias?: string } | undefined) ?? {};
    const alias: { target?: string } | undefined = this.#tables.image_alias.get(image.alias ?? '')?.object;
    const made = image.fingerprint ?? alias?.target;
    const config = {
      ...(owned['config'] as JsonObject | undefined),
      ...(made === undefined ? {} : { 'volatile.base_image': made }),
    };
    const body: JsonObject = kind === 'container' ? { ...owned, config } : owned;
    for (const profile of (body['profiles'] ?? []) as readonly string[]) {
      if (!this.#tables.profile.has(profile)) throw new Error(`${step.id}: no profile ${profile}`);
    }
    this.#checkAcls(step, body);
    return stored(kind, { ...blanks[kind](name), ...body });
  }

  /** Without an ACL's rules, a network would allow what they deny. */
  #checkAcls({ id, kind }: Step, { config }: JsonObject): void {
    if (kind !== 'network') return;
    const missing = splitList(presentTexts(config)['security.acls']).find((acl) => !this.#tables.network_acl.has(acl));
    if (missing !== undefined) throw new Error(`${id}: no network ACL ${missing}`);
  }

  #checkDelete(step: Step, live: object): void {
    const users = this.#usersOf(step.kind, step.name);
    if (users.length > 0) throw new Error(`${step.id}: used by ${users.join(', ')}`);
    if (step.kind === 'profile' && step.name === 'default') throw new Error(`${step.id}: the default profile`);
    if (step.kind !== 'container') return;
    if ((live as Container).status_code !== 102) throw new Error(`${step.id}: it runs`);
    if ((live as Container).config['security.protection.delete'] === 'true') throw new Error(`${step.id}: protected`);
  }

  #usersOf(kind: KindName, name: string): readonly string[] {
    const { containers, profiles, volumes, networks } = this.observed();
    const property = kind === 'storage_pool' ? 'pool' : kind === 'network' ? 'parent' : undefined;
    const uses = (devices: Readonly<Record<string, Readonly<Record<string, string>>>>): boolean =>
      kind === 'storage_volume'
        ? Object.values(devices).some((device) => `${device['pool'] ?? ''}/${device['source'] ?? ''}` === name)
        : property !== undefined && Object.values(devices).some((device) => device[property] === name);
    const within = [...volumes].filter(([, { object }]) => kind === 'storage_pool' && object.pool === name);
    return [
      ...within.map(([volume]) => volume),
      ...[...networks.values()]
        .filter(({ object }) => kind === 'network_acl' && splitList(object.config['security.acls']).includes(name))
        .map(({ object }) => object.name),
      ...[...containers.values()]
        .filter(({ object }) => uses(object.expanded_devices))
        .map(({ object }) => object.name),
      ...[...profiles.values()].filter(({ object }) => uses(object.devices)).map(({ object }) => object.name),
      ...[...containers.values()]
        .filter(({ object }) => kind === 'profile' && object.profiles.includes(name))
        .map(({ object }) => object.name),
    ];
  }
}

const rootOwned = { mode: '0755', uid: 0, gid: 0 };

const blanks: Record<KindName, (name: string) => object> = {
  server_config: (name) => ({ name, config: {} }),
  certificate: (name) => liveCertificate(name),
  project: (name) => liveProject(name),
  storage_volume: (name) => liveVolume(name),
  storage_pool: (name) => livePool(name),
  network_acl: (name) => liveAcl(name),
  network: (name) => liveNetwork(name),
  profile: (name) => liveProfile(name),
  image: (name) => liveImage(name),
  image_alias: (name) => liveAlias(name, ''),
  container: (name) => liveContainer(name, { status: 'Stopped', status_code: 102 }),
};

const configOf = (object: { readonly config?: Record<string, string> } | undefined): Readonly<Record<string, string>> =>
  object?.config ?? {};

/** The result of the server for a given config: chosen addresses, its own keys, no empty values. */
function stored(kind: KindName, object: JsonObject | object): object {
  const given = object as { readonly config?: Readonly<Record<string, string>>; readonly source?: unknown };
  if (given.config === undefined) return object;
  const config = Object.fromEntries(Object.entries(given.config).filter(([, value]) => value !== ''));
  if (kind === 'network') {
    for (const [key, pick] of [
      ['ipv4.address', '10.77.0.1/24'],
      ['ipv6.address', 'fd42:1::1/64'],
    ] as const) {
      if (config[key] === 'auto') config[key] = pick;
    }
    config['volatile.bridge.hwaddr'] ??= '00:16:3e:00:00:01';
  }
  if (kind === 'storage_pool')
    // Generated documents only use this source, so a pool without a source gets the same.
    Object.assign(config, {
      source: '/var/pools/rewritten',
      'volatile.initial_source': config['volatile.initial_source'] ?? config['source'] ?? '/dev/sdb',
    });
  if (kind !== 'container') return { ...given, config };
  const { source: _source, ...rest } = given;
  return { ...rest, config: { ...config, 'volatile.idmap.base': '0', 'image.os': 'busybox' } };
}
