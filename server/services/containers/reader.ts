// Reads containers for clients: with their state, snapshots and backups, also those of other members of the cluster.
import type { Container, ContainerFull, ContainerState } from '../../api/container/container.ts';
import type { Records } from '../../records/records.ts';
import { isLong, LongList } from '../../lib/shared/long-list.ts';
import { renderBackup } from '../shared/backups.ts';
import type { ContainerEntry, ContainerView } from '../shared/container-view.ts';
import { etagOf } from '../shared/etag.ts';
import { anyContainer } from '../shared/find-container.ts';
import { ownedBy } from '../shared/owned-records.ts';
import { ofProject } from '../shared/project-scope.ts';
import { snapshotsOf } from './shared/snapshot-records.ts';
import { renderSnapshot } from './snapshots/snapshots.ts';

export class ContainerReader {
  readonly #deps: { readonly records: Records; readonly view: ContainerView };

  constructor(deps: { readonly records: Records; readonly view: ContainerView }) {
    this.#deps = deps;
  }

  /** recursion=2: with state, snapshots and backups (extension container_full). */
  async listFull(project: string | undefined): Promise<readonly ContainerFull[] | LongList<ContainerFull>> {
    const entries = this.#of(project);
    const full = (entry: ContainerEntry): Promise<ContainerFull> => this.#full(entry);
    return isLong(entries) ? LongList.of(entries, full) : Promise.all(entries.map(full));
  }

  /** The same for a member that does not answer: its recorded containers, without state. */
  listFullOf(member: number, project: string | undefined): readonly ContainerFull[] {
    const { records, view } = this.#deps;
    const there = records.as(member);
    const all = [...records.others.of('containers', member)].sort((a, b) => (a.name < b.name ? -1 : 1));
    return (project === undefined ? all : ofProject(all, project)).map((entry) =>
      this.#withOwned(there, entry, view.renderOther(entry), null),
    );
  }

  /** Also a container of another member. */
  get(name: string): { readonly object: Container; readonly etag: string } {
    const other = this.#deps.records.others.get('containers', name);
    if (other !== undefined && !this.#deps.records.containers.has(name))
      return { object: this.#deps.view.renderOther(other), etag: etagOf.container(other.document) };
    const entry = anyContainer(this.#deps.records, name);
    return { object: this.#deps.view.render(entry), etag: etagOf.container(entry.document) };
  }

  async getFull(name: string): Promise<{ readonly object: ContainerFull; readonly etag: string }> {
    const entry = anyContainer(this.#deps.records, name);
    return { object: await this.#full(entry), etag: etagOf.container(entry.document) };
  }

  state(name: string): Promise<ContainerState> {
    anyContainer(this.#deps.records, name);
    return this.#deps.view.state(name);
  }

  #of(project: string | undefined): readonly ContainerEntry[] {
    const all = this.#deps.records.containers.list();
    return project === undefined ? all : ofProject(all, project);
  }

  async #full(entry: ContainerEntry): Promise<ContainerFull> {
    const { records, view } = this.#deps;
    const state = await view.state(entry.name).catch((error: unknown) => {
      // A container that is deleted while a list is made does not fail the list.
      if (records.containers.has(entry.name)) throw error;
      return null;
    });
    return this.#withOwned(records, entry, view.render(entry), state);
  }

  #withOwned(
    records: Records,
    { name, document: { uuid } }: Pick<ContainerEntry, 'name' | 'document'>,
    object: Container,
    state: ContainerState | null,
  ): ContainerFull {
    const snapshots = snapshotsOf(records, uuid).map((snapshot) => renderSnapshot(records, name, snapshot));
    const backups = ownedBy(records, 'backups', uuid).map(renderBackup);
    return {
      ...object,
      state,
      snapshots: snapshots.length === 0 ? null : snapshots,
      backups: backups.length === 0 ? null : backups,
    };
  }
}
