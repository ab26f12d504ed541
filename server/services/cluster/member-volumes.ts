// Copies custom volumes of another member, by a migration between the two members.
import { type VolumeId, volumeKey } from '../../records/record-names.ts';
import type { ClusterDeparture } from '../../api/cluster/cluster.ts';
import { AppError, errors, mustFind } from '../../api/errors.ts';
import { volumeName } from '../../api/names.ts';
import type { Operation } from '../../api/operation.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { statusCodes } from '../../api/status.ts';
import type { StorageVolumeCreate } from '../../api/storage/volume.ts';
import type { Member } from '../../membership/members.ts';
import { membersOf, placeVolume } from '../../membership/placement.ts';
import { volumeOwner } from '../../membership/volume-owner.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Caller } from '../shared/caller.ts';
import { volumeKeyIn, type ProjectNames } from '../shared/project-scope.ts';
import { customUrl } from '../shared/volume-urls.ts';
import type { MemberCopiesDeps } from './member-copies.ts';
import { endAt, successAt } from './moves/move-out.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface VolumeMove {
  /** The member that gets it. */
  readonly target: string;
  /** The member that has it; empty: the only one. */
  readonly location: string;
}

export type MemberVolumesDeps = MemberCopiesDeps & { readonly operations: Operations; readonly events: EventHub };

type Source = NonNullable<StorageVolumeCreate['source']>;

export class MemberVolumes {
  readonly #deps: MemberVolumesDeps;

  constructor(deps: MemberVolumesDeps) {
    this.#deps = deps;
  }

  /** Turns the copy of another member's volume into a migration from there, which waits for this member; leaves any other creation
   *  unchanged. Throws the reason against it. `from`: qualifies the name of the source. */
  async creationHere(
    caller: Caller,
    pool: string,
    body: StorageVolumeCreate,
    from: Pick<ProjectNames, 'volume'>,
  ): Promise<StorageVolumeCreate> {
    const { source } = body;
    const isCopy = source !== undefined && (source.name ?? '') !== '' && (source.type || 'copy') === 'copy';
    if (!this.#deps.cluster.isOn || !isCopy) return body;
    const [name = '', snapshot] = from.volume(source.name ?? '').split('/');
    const place = { pool: source.pool || pool, name };
    const member = this.#holder(place, source.location ?? '');
    if (member === undefined || member.isHere) return body;
    const { records } = this.#deps;
    if (
      source.refresh !== true &&
      volumeName(body.name) === undefined &&
      records.volumes.has(volumeKeyIn(records, caller.project, pool, body.name))
    )
      throw errors.exists('storage volume', `${pool}/${body.name}`);
    return { ...body, source: await this.#sent(member, place, source, snapshot) };
  }

  /** Without a member's name, prefers this member. */
  #holder({ pool, name }: { readonly pool: string; readonly name: string }, location: string): Member | undefined {
    const { records, cluster } = this.#deps;
    const key = `${pool}/${name}`;
    if (location !== '') {
      const member = mustFind(cluster.members.get(location), 'cluster member', location);
      const isThere =
        member.isHere || records.others.having('volumes', key).some((one) => one.member === member.number);
      if (!isThere) throw errors.notFound('storage volume', `${pool}/${plainName(name)} on the member ${location}`);
      return member;
    }
    if (records.volumes.has(key)) return undefined;
    const owner = volumeOwner(records, cluster.members, key);
    return owner === undefined ? undefined : cluster.members.byNumber(owner);
  }

  /** Undefined: the request with `target` concerns a volume of this member or of the target. Otherwise moves the volume to the target:
   *  copies it, and the member that has it deletes the original. Throws AppError badRequest while it has users. */
  async move(caller: Caller, from: VolumeId, to: VolumeId, move: VolumeMove): Promise<Operation | undefined> {
    const { cluster, records, operations, events } = this.#deps;
    const isThere = (member: Member): boolean =>
      member.isHere
        ? records.volumes.has(volumeKey(from))
        : records.others.having('volumes', volumeKey(from)).some((one) => one.member === member.number);
    const target = move.target.startsWith('@')
      ? freeMember(cluster.members.list(), isThere, move.target, from)
      : cluster.members.get(move.target);
    if (target === undefined || (move.location === '' && isThere(target))) return undefined;
    const owner = move.location === '' ? volumeOwner(records, cluster.members, volumeKey(from)) : undefined;
    const source = move.location === '' ? cluster.members.byNumber(owner ?? 0) : cluster.members.get(move.location);
    const plain = plainName(from.name);
    const gone = `${from.pool}/${plain}${move.location === '' ? '' : ` on the member ${move.location}`}`;
    if (source === undefined || !isThere(source)) throw errors.notFound('storage volume', gone);
    if (source.number === target.number) return undefined;
    const departure: ClusterDeparture = { ...from, target: target.name };
    const { source: offered, id } = await this.#offered(source, '/internal/cluster/departures', departure);
    return operations.start({
      description: 'Moving storage volume',
      resources: { storage_volumes: [customUrl(from)] },
      project: caller.project,
      run: async (_handle, signal) => {
        const place = `/1.0/storage-pools/${encodeURIComponent(to.pool)}/volumes/custom`;
        const of = `project=${encodeURIComponent(projectOf(to.name))}`;
        const body = { name: plainName(to.name), type: 'custom', source: offered };
        const arrival = await cluster.ask<Operation>(target, 'POST', `${place}?${of}`, body, signal);
        const left = endAt(cluster, source, id, signal).catch(() => undefined);
        await successAt(cluster, target, arrival.id, signal);
        const ended = await left;
        if (ended === undefined) await this.#needDeleted(from, source, target, () => isThere(source));
        else if (ended.status_code !== statusCodes.success) {
          // It has users by now, or could not be deleted: the original stays.
          await cluster.ask(target, 'DELETE', pathOf(to.pool, to.name, plainName(to.name))).catch(() => {});
          throw new AppError('internal', `The cluster member ${source.name}: ${ended.err}`);
        }
        const context = { location: target.name, new_name: plainName(to.name) };
        events.lifecycle('storage-volume-renamed', customUrl(from), caller, context);
      },
    });
  }

  /** Whether the original is deleted is not known: the copy may be the only one left, so it stays. Throws AppError outcomeUnknown while the
   *  original is recorded. */
  async #needDeleted(from: VolumeId, source: Member, target: Member, isThere: () => boolean): Promise<void> {
    const what = `the storage volume ${from.pool}/${plainName(from.name)}`;
    await this.#deps.cluster.needCurrent(`Whether the member ${source.name} has deleted ${what}`);
    if (!isThere()) return;
    throw errors.outcomeUnknown(
      `The member ${target.name} has ${what}, but whether ${source.name} deletes its own is not known: look there, and delete the one that is left over`,
    );
  }

  /** The other member offers it, and waits. */
  async #sent(
    member: Member,
    { pool, name }: { readonly pool: string; readonly name: string },
    source: Source,
    snapshot: string | undefined,
  ): Promise<Source> {
    const plain = snapshot === undefined ? plainName(name) : `${plainName(name)}/${snapshot}`;
    const asked = { name: plain, migration: true };
    const offered = await this.#offered(member, pathOf(pool, name, plain), asked);
    return {
      ...offered.source,
      ...withoutUndefined({ volume_only: source.volume_only, refresh: source.refresh }),
    };
  }

  async #offered(
    member: Member,
    path: string,
    asked: object,
  ): Promise<{ readonly source: Source; readonly id: string }> {
    const { id, metadata } = await this.#deps.cluster.ask<Operation>(member, 'POST', path, asked);
    const { control = '', fs = '' } = (metadata ?? {}) as Readonly<Record<string, string>>;
    const operation = `https://${member.address}/1.0/operations/${id}`;
    const certificate = this.#deps.certificate();
    return { source: { type: 'migration', mode: 'pull', operation, certificate, secrets: { control, fs } }, id };
  }
}

/** A member of the group without a volume of that name. Throws AppError badRequest. */
function freeMember(
  members: readonly Member[],
  isThere: (member: Member) => boolean,
  group: string,
  { pool, name }: VolumeId,
): Member {
  const inGroup = membersOf(members, group);
  const free = inGroup.filter((member) => !isThere(member));
  if (free.length > 0) return placeVolume(free, group);
  throw errors.badRequest(
    `The storage volume ${pool}/${plainName(name)} is on ${inGroup.map((member) => member.name).join(', ')} already, and no other member is in the group ${group.slice(1)}`,
  );
}

const pathOf = (pool: string, name: string, plain: string): string =>
  `/1.0/storage-pools/${encodeURIComponent(pool)}/volumes/custom/${encodeURIComponent(plain)}?project=${encodeURIComponent(projectOf(name))}`;
