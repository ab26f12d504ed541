// The context of every decision: the live objects, their users, and the profiles after the plan.
import type { Effect } from '../../../server/api/schema/field.ts';
import { addressOf, type Address, type Document, type JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { effectBetween, expandContainer, isSameExpansion, type ExpandedConfig } from '../live/expand-profiles.ts';
import { isMap, mapOf, textOf, textsOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { scopesOf, type Scopes } from '../live/project-scope.ts';
import type { AffectedObject, PlanOptions, SetOwner } from '../plan/plan.ts';
import type { Change } from '../documents/change.ts';
import type { CompareSeeds } from '../settings/cloud-init-seeds.ts';
import type { SetState } from '../ownership/set-state.ts';
import { findUsage, isRunning, type Usage } from '../live/usage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export class PlanContext {
  readonly observed: Observed;
  readonly options: PlanOptions;
  readonly owner: SetOwner | undefined;
  readonly compareSeeds: CompareSeeds | undefined;
  readonly #declared: ReadonlySet<Address>;
  readonly #unpowered: ReadonlySet<Address>;
  readonly #profilesAfter = new Map<string, JsonObject>();
  readonly #newProfiles = new Map<string, JsonObject>();
  readonly #replace: ReadonlySet<Address>;
  readonly #aliases = new Map<string, string>();
  readonly #scopes: Scopes;
  #usage: Usage | undefined;

  constructor(
    observed: Observed,
    options: PlanOptions,
    declared: Iterable<Document>,
    owner?: SetOwner,
    compareSeeds?: CompareSeeds,
  ) {
    this.observed = observed;
    this.options = options;
    this.owner = owner;
    this.compareSeeds = compareSeeds;
    const documents = [...declared];
    this.#declared = new Set(documents.map((document) => document.address));
    this.#unpowered = new Set(
      documents.filter(({ manage }) => manage.power === 'ignore').map(({ address }) => address),
    );
    for (const { kind, name, values } of documents) {
      const target = kind === 'image_alias' ? values['target'] : undefined;
      // Only a fingerprint identifies the image; a name of a future image does not.
      if (typeof target === 'string' && /^[0-9a-f]{12,64}$/.test(target)) this.#aliases.set(name, target);
    }
    this.#replace = new Set(options.replace);
    this.#scopes = scopesOf(observed, documents);
  }

  /** True when an earlier run ended before it restarted the container, so that its changes took effect only in part. */
  owesRestart(name: string): boolean {
    const live = this.observed.containers.get(name)?.object;
    const since = this.#state?.restarts.get(name);
    return live !== undefined && since !== undefined && since === (live.last_used_at ?? '') && isRunning(live);
  }

  /** True when an earlier run ended before the conditions of `manage.wait` were met. */
  isUnready(name: string): boolean {
    return this.#state?.unready.has(name) === true;
  }

  get #state(): SetState | undefined {
    return this.owner === undefined ? undefined : this.observed.sets?.get(this.owner.set);
  }

  /** The fingerprint to which the alias will point. */
  readonly aliasTarget = (alias: string, project?: string): string | undefined => {
    const key = this.#scopes.keyOf('image_alias', alias, project);
    return this.#aliases.get(key) ?? this.observed.aliases.get(key)?.object.target;
  };

  declares(address: Address): boolean {
    return this.#declared.has(address);
  }

  /** The plan starts, stops and restarts the container where needed. */
  powers(address: Address): boolean {
    return this.#declared.has(address) && !this.#unpowered.has(address);
  }

  isForced(address: Address): boolean {
    return this.#replace.has(address);
  }

  usersOf(address: Address): readonly string[] {
    this.#usage ??= findUsage(this.observed);
    return this.#usage.get(address) ?? [];
  }

  /** Call it with each profile edit before the decisions about containers. */
  addProfileEdits(name: string, edits: readonly Change[]): void {
    const live = this.observed.profiles.get(name)?.object as JsonObject | undefined;
    this.#profilesAfter.set(name, applyEdits(live ?? {}, edits));
  }

  changedProfilesOf(container: JsonObject): readonly string[] {
    if (this.#profilesAfter.size === 0) return [];
    const names = textsOf(container['profiles']).map((name) => this.#profileKey(name, textOf(container['project'])));
    return names.filter((name) => this.#profilesAfter.has(name));
  }

  #profileKey(name: string, project: string | undefined): string {
    return this.#scopes.keyOf('profile', name, project);
  }

  /** A profile that the plan creates; containers that use it get all of it. */
  addNewProfile(name: string, body: JsonObject): void {
    this.#newProfiles.set(name, body);
  }

  /** The profile that a container of `project` calls `name`. */
  readonly profileNow = (name: string, project?: string): JsonObject | undefined => {
    const key = this.#profileKey(name, project);
    return this.observed.profiles.get(key)?.object ?? this.#newProfiles.get(key);
  };

  readonly profileAfter = (name: string, project?: string): JsonObject | undefined =>
    this.#profilesAfter.get(this.#profileKey(name, project)) ?? this.profileNow(name, project);

  /** The expanded devices of a container after the plan; without `live` it is new. */
  devicesAfter({ values, project }: Document, live: JsonObject | undefined): ExpandedConfig['devices'] {
    const profiles = values['profiles'] ?? live?.['profiles'] ?? ['default'];
    const now = mapOf(live?.['devices']);
    const written = Object.entries(mapOf(values['devices'])).map(([name, device]) => [
      name,
      isMap(device) ? { ...mapOf(now[name]), ...device } : device,
    ]);
    const devices = { ...now, ...Object.fromEntries(written) };
    return expandContainer({ profiles, devices, ...withoutUndefined({ project }) }, this.profileAfter).devices;
  }

  /** Containers that an edit of this profile, network or pool reaches, with the effect of the edit alone; undefined: it reaches none. */
  affectedBy(address: Address, effectOn: (container: JsonObject) => Effect | undefined): readonly AffectedObject[] {
    return this.usersOf(address).flatMap((user): AffectedObject[] => {
      const name = user.startsWith('container/') ? user.slice('container/'.length) : undefined;
      const live = name === undefined ? undefined : this.observed.containers.get(name)?.object;
      if (name === undefined || live === undefined) return [];
      const effect = effectOn(live);
      if (effect === undefined) return [];
      const container = addressOf('container', name);
      return [
        {
          address: container,
          effect: effect === 'restart' && !isRunning(live) ? 'live' : effect,
          foreign: !this.#declared.has(container),
        },
      ];
    });
  }

  /** The effect of one profile's edits on a container that uses it, without other changes; undefined when others override all of them. */
  effectOfProfile(container: JsonObject, name: string): Effect | undefined {
    const after = (other: string, project: string | undefined): JsonObject | undefined =>
      this.#profileKey(other, project) === name ? this.profileAfter(other, project) : this.profileNow(other, project);
    const [is, will] = [expandContainer(container, this.profileNow), expandContainer(container, after)];
    return isSameExpansion(is, will) ? undefined : effectBetween(is, will);
  }
}
