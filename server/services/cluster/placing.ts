// Chooses the member that creates a container: the requested one, or the best one that has what it needs.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { ContainerCreate } from '../../api/container/container.ts';
import { architectureName } from '../../api/image/architectures.ts';
import { rootDisk } from '../../api/devices/index.ts';
import { isLimited } from '../../api/project/project-problems.ts';
import { plainName, qualifiedName } from '../../api/project/project-names.ts';
import type { Member } from '../../membership/members.ts';
import { placeContainer } from '../../membership/placement.ts';
import type { ContainerDocument, ImageDocument } from '../../records/documents.ts';
import { volumeIdOf } from '../../records/record-names.ts';
import type { Caller } from '../shared/caller.ts';
import { attachedVolumes, expand } from '../shared/expand.ts';
import { aliasIn, imageIn, profilesOf, volumeKeyIn } from '../shared/project-scope.ts';
import { settingOf } from '../shared/settings.ts';
import { attempt } from '../../lib/shared/attempt.ts';

export interface PlacingDeps extends Pick<ServiceParts, 'records' | 'cluster'> {
  readonly nowMs: () => number;
}

/** How long a container sent to a member counts before that member's records show it. */
const comingMs = 5_000;

interface Need {
  readonly pool?: string | undefined;
  readonly architecture?: string | undefined;
  /** Keys of the custom volumes that its disks use. */
  readonly volumes?: readonly string[];
  /** Qualified name of its image. */
  readonly image?: string | undefined;
  /** The member that has the source of the copy. */
  readonly near?: number | undefined;
}

export class Placing {
  readonly #deps: PlacingDeps;
  #coming: { readonly member: number; readonly name: string; readonly untilMs: number }[] = [];

  constructor(deps: PlacingDeps) {
    this.#deps = deps;
  }

  /** Undefined: this member. `body` is undefined for a backup that arrives as a stream. A copy stays with its source unless a target is
   *  named. */
  memberFor(caller: Caller, target: string, body: ContainerCreate | undefined): Member | undefined {
    const { records, cluster } = this.#deps;
    const name = body?.name === undefined || body.name === '' ? '' : qualifiedName(caller.project, body.name);
    if (records.containers.has(name)) return undefined;
    const owner = name === '' ? undefined : records.others.get('containers', name)?.member;
    if (owner !== undefined) return body?.source.refresh === true ? cluster.members.byNumber(owner) : undefined;
    const need = body === undefined ? {} : this.#needOf(caller, name, body);
    const wish = {
      target: target === 'none' ? '' : target,
      architecture: need.architecture,
      preferred:
        records.projects.get(caller.project)?.document.config['images.default_architecture'] ||
        settingOf(records, 'images.default_architecture'),
      objection: (member: Member) => this.#objection(member, need),
      coming: (member: Member) => this.#count(member),
    };
    const members = cluster.members.list();
    const near = wish.target === '' ? members.filter(({ number }) => number === need.near) : [];
    const place =
      attempt(() => (near.length === 0 ? undefined : placeContainer(near, wish))) ?? placeContainer(members, wish);
    this.#coming.push({ member: place.number, name, untilMs: this.#deps.nowMs() + comingMs });
    return place.isHere ? undefined : place;
  }

  isLimited(project: string): boolean {
    return isLimited(this.#deps.records.projects.get(project)?.document.config ?? {});
  }

  #needOf(caller: Caller, name: string, body: ContainerCreate): Need {
    const { records } = this.#deps;
    const source = this.#sourceOf(caller, body);
    const image = body.source.type === 'image' ? this.#imageOf(caller, body) : undefined;
    const machine = {
      profiles: body.profiles ?? source?.document.profiles ?? ['default'],
      config: {},
      devices: { ...source?.document.devices, ...body.devices },
    };
    const inProject = name === '' ? qualifiedName(caller.project, 'new') : name;
    const { devices } = expand(machine, profilesOf(records, inProject));
    return {
      pool: rootDisk(devices)?.pool,
      architecture:
        architectureName(body.architecture ?? '') ?? source?.document.architecture ?? image?.document.architecture,
      image: image?.name,
      near: source?.member,
      volumes: attachedVolumes(devices).map((disk) => volumeKeyIn(records, caller.project, disk.pool, disk.name)),
    };
  }

  /** The source of a copy, on any member. */
  #sourceOf(caller: Caller, { source }: ContainerCreate): PlacedContainer | undefined {
    if (source.type !== 'copy') return undefined;
    const [plain = ''] = (source.source ?? '').split('/');
    return containerAnywhere(this.#deps, qualifiedName(source.project || caller.project, plain));
  }

  /** An image that any member has; undefined: it is fetched, or the creating member refuses the request. */
  #imageOf({ project }: Caller, { source }: ContainerCreate): NamedDocument<ImageDocument> | undefined {
    if (source.server !== undefined && source.server !== '') return undefined;
    const { records } = this.#deps;
    const { alias = '', fingerprint = '' } = source;
    const aliased = alias === '' ? undefined : records.aliases.get(aliasIn(records, project, alias))?.document.target;
    const prefix = aliased ?? fingerprint;
    if (prefix === '') return undefined;
    const start = imageIn(records, project, prefix);
    const isIt = ({ name }: { readonly name: string }): boolean => name.startsWith(start);
    return records.images.list().find(isIt) ?? [...records.others.list('images')].find(isIt);
  }

  #objection(member: Member, { pool, image, volumes = [] }: Need): string | undefined {
    const { members } = this.#deps.cluster;
    // The use case reports a volume that no member has.
    const isMissing = (key: string): boolean =>
      !this.#hasReady('volumes', key, member) && members.list().some((each) => this.#hasReady('volumes', key, each));
    const missing = volumes.find(isMissing);
    if (missing !== undefined) {
      const { pool: its, name } = volumeIdOf(missing);
      return `has no storage volume ${plainName(name)} in the pool ${its}`;
    }
    if (pool !== undefined && pool !== '' && !this.#hasReady('pools', pool, member))
      return `has no storage pool ${pool}`;
    if (image === undefined || this.#hasReady('images', image, member)) return undefined;
    // Any other member that has it can send it.
    const canCome = members.list().some((each) => each.isPresent && this.#hasReady('images', image, each));
    return canCome ? undefined : 'does not have the image, and the members that have it are offline';
  }

  #hasReady(kind: 'pools' | 'images' | 'volumes', name: string, member: Member): boolean {
    const { records } = this.#deps;
    return member.isHere
      ? records[kind].get(name)?.document.lifecycle === 'ready'
      : records.others.having(kind, name).some((entry) => isReadyAt(entry, member));
  }

  #count({ number }: Member): number {
    const now = this.#deps.nowMs();
    this.#coming = this.#coming.filter(
      ({ name, untilMs }) => untilMs > now && (name === '' || containerAnywhere(this.#deps, name) === undefined),
    );
    return this.#coming.filter(({ member }) => member === number).length;
  }
}

interface NamedDocument<T> {
  readonly name: string;
  readonly document: T;
}

interface PlacedContainer {
  readonly member: number;
  readonly document: ContainerDocument;
}

export function containerAnywhere(
  { records, cluster }: Pick<PlacingDeps, 'records' | 'cluster'>,
  name: string,
): PlacedContainer | undefined {
  const own = records.containers.get(name);
  if (own !== undefined) return { member: cluster.members.here, document: own.document };
  return records.others.get('containers', name);
}

const isReadyAt = (
  entry: { readonly member: number; readonly document: { readonly lifecycle: string } },
  { number }: Member,
): boolean => entry.member === number && entry.document.lifecycle === 'ready';
