// Copies of custom volumes that another member has: they come from there as a migration between servers does.
import { errors } from '../../api/errors.ts';
import { volumeName } from '../../api/names.ts';
import type { Operation } from '../../api/operation.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import type { StorageVolumeCreate } from '../../api/storage/volume.ts';
import type { Member } from '../../cluster/members.ts';
import { volumeOwner } from '../../cluster/volume-owner.ts';
import type { Caller } from '../caller.ts';
import { volumeKeyIn, type ProjectNames } from '../project-scope.ts';
import type { MemberCopiesDeps } from './member-copies.ts';

type Source = NonNullable<StorageVolumeCreate['source']>;

export class MemberVolumes {
  readonly #deps: MemberCopiesDeps;

  constructor(deps: MemberCopiesDeps) {
    this.#deps = deps;
  }

  /**
   * The creation as it is carried out here: a copy of what another member has becomes a migration from there, which has begun to
   * wait for this member; anything else stays as it is. Throws what is against it. `from`: qualifies the name of the source.
   */
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
    const plain = plainName(name);
    if (snapshot !== undefined)
      throw errors.badRequest(
        `The snapshot ${plain}/${snapshot} is on the member ${member.name}: copy it there (target: ${member.name}), and that copy here`,
      );
    const { records } = this.#deps;
    if (
      volumeName(body.name) === undefined &&
      records.volumes.has(volumeKeyIn(records, caller.project, pool, body.name))
    )
      throw errors.exists('storage volume', `${pool}/${body.name}`);
    return { ...body, source: await this.#sent(member, place, source) };
  }

  /** Without a name of the member one here comes first. */
  #holder({ pool, name }: { readonly pool: string; readonly name: string }, location: string): Member | undefined {
    const { records, cluster } = this.#deps;
    const key = `${pool}/${name}`;
    if (location !== '') {
      const member = cluster.members.get(location);
      if (member === undefined) throw errors.notFound('cluster member', location);
      const isThere =
        member.isHere || records.others.having('volumes', key).some((one) => one.member === member.number);
      if (!isThere) throw errors.notFound('storage volume', `${pool}/${plainName(name)} on the member ${location}`);
      return member;
    }
    if (records.volumes.has(key)) return undefined;
    const owner = volumeOwner(records, cluster.members, key);
    return owner === undefined ? undefined : cluster.members.byNumber(owner);
  }

  /** The other member offers it, and waits. */
  async #sent(
    member: Member,
    { pool, name }: { readonly pool: string; readonly name: string },
    source: Source,
  ): Promise<Source> {
    const plain = plainName(name);
    const path = `/1.0/storage-pools/${encodeURIComponent(pool)}/volumes/custom/${encodeURIComponent(plain)}`;
    const { id, metadata } = await this.#deps.cluster.ask<Operation>(
      member,
      'POST',
      `${path}?project=${encodeURIComponent(projectOf(name))}`,
      { name: plain, migration: true },
    );
    const { control = '', fs = '' } = (metadata ?? {}) as Readonly<Record<string, string>>;
    return {
      type: 'migration',
      mode: 'pull',
      operation: `https://${member.address}/1.0/operations/${id}`,
      certificate: this.#deps.certificate(),
      secrets: { control, fs },
      ...(source.volume_only === undefined ? {} : { volume_only: source.volume_only }),
    };
  }
}
