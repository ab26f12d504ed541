// Warnings: use cases of the API. Each member has its own; every member shows, acknowledges and deletes those of all.
import type { ServiceParts } from '../shared/service-parts.ts';
import { errors, mustFind } from '../../api/errors.ts';
import { readableNames } from '../../api/project/readable-names.ts';
import { warningUrl, type Warning } from '../../api/server/warning.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { WarningDocument } from '../../records/documents.ts';
import type { OtherEntry } from '../../records/other-members.ts';
import type { Caller } from '../shared/caller.ts';
import { checkIfMatch, etagOf } from '../shared/etag.ts';
import { presentEntity, projectOfEntity, urlOfEntity } from './warned-objects.ts';
import type { KnownWarning, WarningBook } from './warning-book.ts';

export interface WarningsDeps extends Pick<ServiceParts, 'records' | 'events' | 'clock'> {
  readonly cluster: Pick<Cluster, 'ownName' | 'members'>;
  readonly book: WarningBook;
}

/** Statuses that clients may set. */
const settable = { new: 'warning-reset', acknowledged: 'warning-acknowledged' } as const;
type SettableStatus = keyof typeof settable;

export class Warnings {
  readonly #deps: WarningsDeps;

  constructor(deps: WarningsDeps) {
    this.#deps = deps;
  }

  /** In order of first sighting. `project`: undefined for all. */
  list(project: string | undefined): readonly Warning[] {
    const { records, cluster, book } = this.#deps;
    const own = book.all().flatMap((known) => this.#render(known, undefined, cluster.ownName));
    const others = [...records.others.list('warnings')].flatMap((known) =>
      this.#render(known, known.member, cluster.members.nameOf(known.member)),
    );
    const all = [...own, ...others].filter((warning) => project === undefined || warning.project === project);
    return all.toSorted((a, b) => order(a, b));
  }

  get(uuid: string): { readonly object: Warning; readonly etag: string } {
    const object = mustFind(
      this.list(undefined).find((warning) => warning.uuid === uuid),
      'warning',
      uuid,
    );
    return { object, etag: etagOf.warning(object) };
  }

  async put(caller: Caller, uuid: string, wanted: string, ifMatch: string | undefined): Promise<void> {
    const status = settableStatus(wanted);
    await this.#settled(uuid);
    const { records, clock } = this.#deps;
    await records.retry((changes) => {
      checkIfMatch(ifMatch, this.get(uuid).etag, 'warning', uuid);
      const next = (document: WarningDocument): WarningDocument => ({
        ...document,
        status,
        updatedAt: clock.timestamp(),
      });
      const own = records.warnings.get(uuid);
      const other = this.#other(uuid);
      if (own !== undefined) changes.put('warnings', uuid, next(own.document));
      else if (other !== undefined) changes.putOther('warnings', other, next(other.document));
      else throw errors.unavailable(`The warning ${uuid} cannot be stored at the moment; try again`);
    });
    this.#emit(caller, settable[status], uuid);
  }

  async delete(caller: Caller, uuid: string): Promise<void> {
    this.get(uuid);
    const { records, book } = this.#deps;
    book.forget(uuid);
    await records.retry((changes) => {
      const other = this.#other(uuid);
      if (records.warnings.has(uuid)) changes.delete('warnings', uuid);
      else if (other !== undefined) changes.deleteOther('warnings', other);
    });
    this.#emit(caller, 'warning-deleted', uuid);
  }

  /** How many unresolved causes this member has. */
  activeHere(): number {
    return this.#deps.book.all().filter(({ document }) => document.status !== 'resolved').length;
  }

  /** An acknowledgement includes sightings that were not written yet. */
  async #settled(uuid: string): Promise<void> {
    this.get(uuid);
    if (this.#other(uuid) === undefined) await this.#deps.book.write(true);
  }

  #other(uuid: string): OtherEntry<WarningDocument> | undefined {
    return this.#deps.records.others.get('warnings', uuid);
  }

  /** Undefined if its object is gone: its member removes the warning within a minute. */
  #render({ name, document }: KnownWarning, member: number | undefined, location: string): readonly Warning[] {
    const { records } = this.#deps;
    const entity = document.entity && presentEntity(records, document.entity, member);
    if (document.entity !== undefined && entity === undefined) return [];
    const project = projectOfEntity(entity);
    return [
      {
        uuid: name,
        location,
        project,
        type: document.type,
        count: document.count,
        first_seen_at: document.firstSeenAt,
        last_seen_at: document.lastSeenAt,
        last_message: readableNames(document.lastMessage, project, (one) => records.projects.has(one)),
        severity: document.severity,
        status: document.status,
        entity_url: urlOfEntity(records, entity),
      },
    ];
  }

  #emit(caller: Caller, action: string, uuid: string): void {
    this.#deps.events.lifecycle(action, warningUrl(uuid), caller);
  }
}

function settableStatus(wanted: string): SettableStatus {
  if (Object.hasOwn(settable, wanted)) return wanted as SettableStatus;
  if (wanted === 'resolved')
    throw errors.forbidden('A warning is resolved by the server when its cause is over: set new or acknowledged');
  const message = `must be new or acknowledged, is ${JSON.stringify(wanted.slice(0, 100))}`;
  throw errors.invalid('warning', [{ path: 'status', message }]);
}

function order(a: Warning, b: Warning): number {
  if (a.first_seen_at !== b.first_seen_at) return a.first_seen_at < b.first_seen_at ? -1 : 1;
  return a.uuid < b.uuid ? -1 : 1;
}
