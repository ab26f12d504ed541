// The host ids of each container: kept in volatile.idmap.*, allocated so that no two isolated containers share any.
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import { errors } from '../../../api/errors.ts';
import type { IdMapEntry, RuntimeDriver } from '../../../drivers/runtime/driver.ts';
import { defaultMap, type HostIds } from '../../../drivers/runtime/idmap/id-map.ts';
import { parseIdMap, planIdMap, rangesOf, renderIdMap, sameMap } from '../../../drivers/runtime/idmap/plan.ts';
import type { IdMapPlan, TakenIds } from '../../../drivers/runtime/idmap/plan.ts';
import type { ContainerDocument, ProfileDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import { expand } from '../../shared/expand.ts';
import { readyContainer } from '../../shared/find-container.ts';
import { plainName, projectOf } from '../../../api/project/project-names.ts';
import { profilesOf } from '../../shared/project-scope.ts';

export const idMapKeys = {
  base: 'volatile.idmap.base',
  next: 'volatile.idmap.next',
  current: 'volatile.idmap.current',
  /** The map of the files on disk; `[]`: the ids that the container itself sees. */
  files: 'volatile.last_state.idmap',
} as const;

export interface IdMapsDeps {
  readonly records: Records;
  readonly runtime: Pick<RuntimeDriver, 'probe' | 'rootfsIdmapped'>;
  readonly ids: HostIds;
}

/** The document with the map of its next start. Throws AppError badRequest naming key, value and rule. */
export type Reserve = (name: string, document: ContainerDocument) => ContainerDocument;

export class IdMaps {
  readonly #deps: IdMapsDeps;
  /** Allocated ids on their way into the records. */
  readonly #pending = new Map<symbol, readonly TakenIds[]>();

  constructor(deps: IdMapsDeps) {
    this.#deps = deps;
  }

  /** Throws AppError badRequest if the container cannot have the map that its config requests. `profiles`: as planned. */
  check(name: string, document: ContainerDocument, profiles?: ReadonlyMap<string, ProfileDocument>): void {
    this.#plan(name, document, undefined, profiles);
  }

  /** Ids that `work` reserves are exclusive even before they are recorded. */
  async reserving<T>(work: (reserve: Reserve) => Promise<T>): Promise<T> {
    const mine = Symbol('reservation');
    try {
      return await work((name, document) => {
        const plan = this.#plan(name, document, mine);
        this.#pending.set(
          mine,
          plan.reserved.map((range) => ({ ...range, owner: name })),
        );
        const volatile = { [idMapKeys.base]: plan.base.toString(), [idMapKeys.next]: renderIdMap(plan.map) };
        return { ...document, config: { ...document.config, ...volatile } };
      });
    } finally {
      this.#pending.delete(mine);
    }
  }

  /** The map of the next start, recorded. Stays the last start's map while the config and other containers allow it. */
  async mapForStart(name: string): Promise<readonly IdMapEntry[]> {
    const { records, runtime } = this.#deps;
    return this.reserving((reserve) =>
      records.retry((changes) => {
        const { document } = readyContainer(records, name);
        const reserved = reserve(name, document);
        const map = parseIdMap(reserved.config[idMapKeys.next]) ?? [];
        // Recovery after a crash must know the map that files were about to get.
        const intent: ConfigMap = runtime.rootfsIdmapped ? {} : { [idMapKeys.current]: renderIdMap(map) };
        const wanted = { ...reserved, config: { ...reserved.config, ...intent } };
        if (Object.values(idMapKeys).some((key) => wanted.config[key] !== document.config[key])) {
          changes.put('containers', name, wanted);
        }
        return map;
      }),
    );
  }

  /** Call after a change to something it inherits. */
  async refresh(name: string): Promise<void> {
    const { records } = this.#deps;
    await this.reserving((reserve) =>
      records.retry((changes) => {
        const document = records.containers.get(name)?.document;
        if (document?.lifecycle !== 'ready') return;
        const wanted = reserve(name, document);
        const isNew = [idMapKeys.base, idMapKeys.next].some((key) => wanted.config[key] !== document.config[key]);
        if (isNew) changes.put('containers', name, wanted);
      }),
    );
  }

  /** The current map, or that of the next start. */
  mapOf({ config }: Pick<ContainerDocument, 'config'>): readonly IdMapEntry[] {
    return parseIdMap(config[idMapKeys.next]) ?? defaultMap(this.#deps.ids);
  }

  /** Keys to keep once it runs with this map. `isMapped`: its files are mapped at the mount. */
  volatileOf(map: readonly IdMapEntry[], { config }: Pick<ContainerDocument, 'config'>, isMapped: boolean): ConfigMap {
    // Files that were shifted before the host could map them stay as they are.
    const stays = sameMap(parseIdMap(config[idMapKeys.files]) ?? [], map);
    const files = isMapped && !stays ? [] : map;
    return { [idMapKeys.current]: renderIdMap(map), [idMapKeys.files]: renderIdMap(files) };
  }

  /** The same for a runtime; undefined if an older release, or another host, made the container and did not record it. */
  fileMapsOf(document: Pick<ContainerDocument, 'config'>): readonly (readonly IdMapEntry[])[] | undefined {
    return parseIdMap(document.config[idMapKeys.files]) === undefined ? undefined : this.filesOf(document);
  }

  /** Maps that its files may have on disk: the recorded one first, then those that a start may have been about to apply. */
  filesOf({ config }: Pick<ContainerDocument, 'config'>): readonly (readonly IdMapEntry[])[] {
    // An older release did not record it, and had one map for all.
    const recorded = parseIdMap(config[idMapKeys.files]) ?? defaultMap(this.#deps.ids);
    const others = [config[idMapKeys.current], config[idMapKeys.next]].flatMap((value) => {
      const map = parseIdMap(value);
      return map === undefined ? [] : [map];
    });
    return [recorded, ...others].filter((map, index, all) => all.findIndex((one) => sameMap(one, map)) === index);
  }

  /** The key that names the map of a shift on disk which a start has not finished: a copy made now has files of both maps. Empty: none. */
  unfinished({ config }: Pick<ContainerDocument, 'config'>): ConfigMap {
    const current = config[idMapKeys.current];
    // Where files are mapped at the mount, the map in use says nothing about them.
    if (this.#deps.runtime.rootfsIdmapped || current === undefined || current === config[idMapKeys.files]) return {};
    return { [idMapKeys.current]: current };
  }

  #plan(
    name: string,
    document: ContainerDocument,
    mine: symbol | undefined,
    profiles?: ReadonlyMap<string, ProfileDocument>,
  ): IdMapPlan {
    const stored = profilesOf(this.#deps.records, name);
    const profileOf = (profile: string) => profiles?.get(profile) ?? stored(profile);
    const { config } = expand(document, profileOf);
    const kept = Number(document.config[idMapKeys.base] ?? '');
    const plan = planIdMap(this.#deps.ids, config, kept > 0 ? kept : undefined, () => this.#taken(name, mine));
    if ('message' in plan) {
      throw errors.invalid(`container ${name}`, [{ path: `config.${plan.key}`, message: plan.message }]);
    }
    return plan;
  }

  #taken(name: string, mine: symbol | undefined): readonly TakenIds[] {
    const pending = [...this.#pending].filter(([key]) => key !== mine).flatMap(([, ranges]) => ranges);
    const recorded = this.#deps.records.containers
      .list()
      .filter((entry) => entry.name !== name)
      .flatMap((entry) => this.#takenBy(entry.name, entry.document));
    // Messages name the owner: a reader may not know other projects' objects.
    const labelOf = (owner: string): string =>
      projectOf(owner) === projectOf(name) ? plainName(owner) : 'of another project';
    return [...recorded, ...pending.filter((one) => one.owner !== name)].map((one) => ({
      ...one,
      owner: labelOf(one.owner),
    }));
  }

  #takenBy(name: string, document: ContainerDocument): readonly TakenIds[] {
    const { ids, runtime } = this.#deps;
    const { config } = document;
    // Files from elsewhere may have a map that was never allocated here.
    const isInUse = runtime.probe(name).status !== 'stopped' || config[idMapKeys.files] === config[idMapKeys.current];
    const maps = [config[idMapKeys.next], ...(isInUse ? [config[idMapKeys.current]] : [])];
    const whole = maps.flatMap((value) => rangesOf(ids, parseIdMap(value) ?? []));
    return whole.map((range) => ({ ...range, owner: name }));
  }
}
