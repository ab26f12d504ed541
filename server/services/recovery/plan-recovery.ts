// Decides which copies in the pools are restored, which records stay, and which objects have no record at all. Pure.
import { canonicalJson } from '../../lib/canonical-json.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Documents } from '../../records/documents.ts';
import { ownedKey, ownedName, volumeIdOf, volumeKey } from '../../records/record-names.ts';
import { copiedKinds, type CopiedKind, type CopiedRecord } from './copied-records.ts';

export interface PoolContent {
  readonly pool: string;
  readonly copies: readonly { readonly record: CopiedRecord; readonly writtenMs: number }[];
  /** Names of containers and custom volumes, each with its snapshots. */
  readonly containers: ReadonlyMap<string, readonly string[]>;
  readonly custom: ReadonlyMap<string, readonly string[]>;
}

export interface Here {
  readonly get: <K extends CopiedKind>(kind: K, name: string) => Documents[K] | undefined;
  /** The record that has this uuid. */
  readonly nameOf: (kind: 'containers' | 'volumes', uuid: string) => string | undefined;
  /** Fingerprints of images with files, and files of backups. */
  readonly images: ReadonlySet<string>;
  readonly backups: ReadonlySet<string>;
}

export interface UnrestoredRecord {
  readonly kind: CopiedKind;
  readonly name: string;
  readonly reason: string;
}

export interface UnknownVolume {
  readonly pool: string;
  readonly type: 'container' | 'custom';
  readonly name: string;
  /** Empty: the volume has none. For a known volume: only the unknown ones. */
  readonly snapshots: readonly string[];
  /** The volume itself has a record. */
  readonly isKnown: boolean;
}

export interface RecoveryPlan {
  readonly puts: readonly CopiedRecord[];
  readonly kept: readonly UnrestoredRecord[];
  readonly unknown: readonly UnknownVolume[];
}

export function planRecovery(contents: readonly PoolContent[], here: Here): RecoveryPlan {
  const plan = new Plan(contents, here);
  for (const kind of copiedKinds) for (const copy of newest(contents, kind)) plan.decide(copy);
  return { puts: plan.puts, kept: plan.kept, unknown: contents.flatMap((content) => plan.unknownIn(content)) };
}

interface Copy {
  readonly record: CopiedRecord;
  readonly pool: string;
}

/** A pool that was away has old copies of records that every pool has. */
function newest(contents: readonly PoolContent[], kind: CopiedKind): readonly Copy[] {
  const all = contents.flatMap(({ pool, copies }) =>
    copies.flatMap(({ record, writtenMs }) => (record.kind === kind ? [{ record, pool, writtenMs }] : [])),
  );
  const byName = new Map<string, Copy>();
  for (const copy of all.toSorted((a, b) => a.writtenMs - b.writtenMs)) byName.set(copy.record.name, copy);
  return [...byName.values()].toSorted((a, b) => (a.record.name < b.record.name ? -1 : 1));
}

class Plan {
  readonly puts: CopiedRecord[] = [];
  readonly kept: UnrestoredRecord[] = [];
  readonly #here: Here;
  readonly #contents: ReadonlyMap<string, PoolContent>;
  readonly #put = new Map<string, CopiedRecord>();
  /** Containers and volumes by uuid: those with a record, and restored ones. */
  readonly #owners = new Map<string, { readonly pool: string; readonly name: string }>();

  constructor(contents: readonly PoolContent[], here: Here) {
    this.#here = here;
    this.#contents = new Map(contents.map((content) => [content.pool, content]));
  }

  decide({ record, pool }: Copy): void {
    const why = this.#refusalOf(record, pool);
    if (why === undefined) {
      this.puts.push(record);
      this.#put.set(`${record.kind}/${record.name}`, record);
    } else if (why !== '') this.kept.push({ kind: record.kind, name: record.name, reason: why });
  }

  /** Undefined: it is restored. Empty: it exists, or is useless. */
  #refusalOf(record: CopiedRecord, pool: string): string | undefined {
    switch (record.kind) {
      case 'server':
        return this.#missingSettings(record.document.config).length === 0 ? '' : undefined;
      case 'volumes':
      case 'containers':
        return this.#ofVolume(record, pool);
      case 'volumeSnapshots':
      case 'snapshots':
        return this.#ofSnapshot(record);
      case 'backups':
        if (this.#here.get('backups', record.name) !== undefined) return '';
        if (!this.#owners.has(ownedName(record.name).uuid)) return '';
        return this.#here.backups.has(record.document.file) ? undefined : 'its file is gone';
      case 'images':
        if (this.#here.get('images', record.name) !== undefined) return '';
        return this.#here.images.has(plainName(record.name)) ? undefined : '';
      case 'aliases':
        return this.#ofAlias(record);
      case 'projects':
      case 'pools':
      case 'networkAcls':
      case 'networks':
      case 'profiles':
        break;
    }
    return this.#ofShared(record);
  }

  #ofShared(record: CopiedRecord<'projects' | 'pools' | 'networkAcls' | 'networks' | 'profiles'>): string | undefined {
    const found = this.#here.get(record.kind, record.name);
    if (found === undefined) return undefined;
    if (isSame(found, record.document)) return '';
    const isFresh = 'devices' in found && isSame(found.devices, {}) && isSame(found.config, {});
    return isFresh ? undefined : 'it is there and differs from its copy: it stays as it is';
  }

  #ofAlias({ name, document }: CopiedRecord<'aliases'>): string | undefined {
    if (this.#here.get('aliases', name) !== undefined) return '';
    const prefix = name.slice(0, name.length - plainName(name).length);
    const image = `${prefix}${document.target}`;
    return this.#here.get('images', image) !== undefined || this.#put.has(`images/${image}`) ? undefined : '';
  }

  #ofVolume(record: CopiedRecord<'containers' | 'volumes'>, pool: string): string | undefined {
    const { kind, name } = record;
    const { uuid } = record.document;
    const place = record.kind === 'containers' ? record.document.pool : volumeIdOf(name).pool;
    // A crash during its move to another pool, which has its own copy.
    if (place !== pool) return '';
    const plain = kind === 'volumes' ? volumeIdOf(name).name : name;
    const found = this.#here.get(kind, name);
    if (found !== undefined && found.uuid !== uuid) return 'another one has its name now';
    const volumes = this.#contents.get(pool)?.[kind === 'volumes' ? 'custom' : 'containers'];
    if (found === undefined && volumes?.has(plain) !== true) return `its volume in the pool ${pool} is gone`;
    const other = found === undefined ? this.#here.nameOf(kind, uuid) : undefined;
    if (other !== undefined)
      return `the records have its uuid as ${other}: if it was renamed or moved since, delete ${other} and recover again`;
    this.#owners.set(uuid, { pool, name: plain });
    return found === undefined ? undefined : '';
  }

  #ofSnapshot({ kind, name }: CopiedRecord<'snapshots' | 'volumeSnapshots'>): string | undefined {
    if (this.#here.get(kind, name) !== undefined) return '';
    const { uuid, name: snapshot } = ownedName(name);
    const owner = this.#owners.get(uuid);
    if (owner === undefined) return '';
    const volumes = this.#contents.get(owner.pool)?.[kind === 'snapshots' ? 'containers' : 'custom'];
    return volumes?.get(owner.name)?.includes(snapshot) === true ? undefined : 'its files are gone';
  }

  #missingSettings(copied: Readonly<Record<string, string>>): readonly string[] {
    const config = this.#here.get('server', 'config')?.config ?? {};
    return Object.keys(copied).filter((key) => !Object.hasOwn(config, key));
  }

  unknownIn({ pool, containers, custom }: PoolContent): readonly UnknownVolume[] {
    const of = (type: UnknownVolume['type'], volumes: ReadonlyMap<string, readonly string[]>) =>
      [...volumes].flatMap(([name, snapshots]): readonly UnknownVolume[] => {
        const uuid = this.#uuidOf(pool, type, name);
        if (uuid === undefined) return [{ pool, type, name, snapshots, isKnown: false }];
        const kind = type === 'container' ? 'snapshots' : 'volumeSnapshots';
        const others = snapshots.filter((snapshot) => !this.#has(kind, ownedKey(uuid, snapshot)));
        return others.length === 0 ? [] : [{ pool, type, name, snapshots: others, isKnown: true }];
      });
    return [...of('container', containers), ...of('custom', custom)];
  }

  #uuidOf(pool: string, type: UnknownVolume['type'], name: string): string | undefined {
    if (type === 'custom') return this.#record('volumes', volumeKey({ pool, name }))?.uuid;
    const found = this.#record('containers', name);
    return found?.pool === pool ? found.uuid : undefined;
  }

  #has(kind: CopiedKind, name: string): boolean {
    return this.#record(kind, name) !== undefined;
  }

  #record<K extends CopiedKind>(kind: K, name: string): Documents[K] | undefined {
    return this.#here.get(kind, name) ?? (this.#put.get(`${kind}/${name}`)?.document as Documents[K] | undefined);
  }
}

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);
