// Decides where a request is carried out: here, at the member that has the object, or at several. Pure but for the lookup of owners.
import { errors, mustFind } from '../api/errors.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { recursionOf } from '../api/text/recursion.ts';
import type { ImageDocument } from '../records/documents.ts';
import type { Records } from '../records/records.ts';
import { holdersOf, imagesOfCluster, otherHolders } from './cluster-images.ts';
import { volumeOwner } from './volume-owner.ts';
import { placeVolume } from './placement.ts';
import { noMember, type Member, type Members } from './members.ts';

export interface RoutedRequest {
  readonly endpoint: Pick<Endpoint, 'id' | 'method' | 'path' | 'query' | 'placedBy' | 'target'>;
  /** Parameters; names are qualified. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string | undefined>>;
}

const volumePath = '/1.0/storage-pools/:pool/volumes/:type/:name';

export class Routing {
  readonly #records: Records;
  readonly #members: Members;

  constructor(records: Records, members: Members) {
    this.#records = records;
    this.#members = members;
  }

  /** The other member that carries out the request; undefined: this one. Throws AppError notFound for an unknown target. */
  memberFor(request: RoutedRequest): Member | undefined {
    const number = this.#numberFor(request);
    return number === undefined || number === this.#members.here ? undefined : this.#members.byNumber(number);
  }

  /** Another member that has the container of this qualified name. */
  memberOfContainer(name: string): Member | undefined {
    const number = this.#ownerOfContainer(name);
    return number === undefined ? undefined : this.#members.byNumber(number);
  }

  memberOfOperation(id: string): Member | undefined {
    const number = numberInOperation(id);
    return number === this.#members.here || number === undefined ? undefined : this.#members.byNumber(number);
  }

  #numberFor({ endpoint, params, query }: RoutedRequest): number | undefined {
    const { path, query: known, target: names = 'member', placedBy } = endpoint;
    const group = groupIn(query['target']);
    const takesTarget = known.includes('target') && names !== 'part';
    if (group !== undefined && known.includes('target') && (names === 'member' || names === 'part'))
      throw errors.badRequest(`The target @${group} is a group, and this request is for one member: name it`);
    const target = this.#targetOf(query['target']);
    if (placedBy === 'anyone' && !asksOneMember(query)) return undefined;
    if (path.startsWith('/1.0/containers/:name')) return this.#ownerOfContainer(params['name'] ?? '');
    if (path === '/1.0/cluster/members/:name/state') return this.#targetOf(params['name']);
    if (path.startsWith('/1.0/operations/:id')) return this.memberOfOperation(params['id'] ?? '')?.number;
    // A volume that the target lacks is moved there by the member that was asked.
    if (names === 'destination' && group !== undefined) return undefined;
    if (names === 'destination' && target !== undefined && !this.#hasVolume(target, params)) return undefined;
    if (path.startsWith(volumePath))
      return target ?? this.#ownerOfVolume(params['type'] ?? '', params['pool'] ?? '', params['name'] ?? '');
    if (path.startsWith('/1.0/images/:fingerprint'))
      return this.#holderOfImage(placedBy, params['fingerprint'] ?? '', query);
    if (group !== undefined && names === 'group') return placeVolume(this.#members.list(), `@${group}`).number;
    return takesTarget && names !== 'destination' ? target : undefined;
  }

  /** Whether routing depends on another member's write of a moment ago: a volume may just have been moved or deleted there. For containers
   *  a second look corrects a wrong guess. */
  dependsOnOthers({ endpoint: { path }, query }: RoutedRequest): boolean {
    return path.startsWith(volumePath) && this.#targetOf(query['target']) === undefined;
  }

  /** Changes go to the member with the lowest number that has the image; everything else to any holder that answers. */
  #holderOfImage(
    placedBy: RoutedRequest['endpoint']['placedBy'],
    prefix: string,
    query: RoutedRequest['query'],
  ): number | undefined {
    const matching = imagesOfCluster(this.#records).filter(({ name }) => name.startsWith(prefix));
    const [image] = matching;
    // The member that was asked reports the problem.
    if (image === undefined || matching.length > 1) return undefined;
    const holders = holdersOf(this.#records, image.name);
    if (placedBy === 'nearest' && !asksOneMember(query) && holders.includes(this.#members.here)) return undefined;
    if (placedBy === 'first') return holders[0];
    return holders.find((each) => this.#members.isPresent(each)) ?? holders[0];
  }

  /** The number of the member that `?target=` names. */
  #targetOf(name = ''): number | undefined {
    if (name === '' || name === noMember || name.startsWith('@')) return undefined;
    const member = mustFind(this.#members.get(name), 'cluster member', name);
    return member.number;
  }

  #ownerOfContainer(name: string): number | undefined {
    if (this.#records.containers.has(name)) return undefined;
    return this.#records.others.get('containers', name)?.member;
  }

  #ownerOfVolume(type: string, pool: string, path: string): number | undefined {
    const [name = ''] = path.split('/');
    if (type === 'container') return this.#ownerOfContainer(name);
    if (type === 'image') return this.#unpackerOf(name, pool);
    return type === 'custom' ? volumeOwner(this.#records, this.#members, `${pool}/${name}`) : undefined;
  }

  #hasVolume(member: number, { type = '', pool = '', name = '' }: RoutedRequest['params']): boolean {
    if (type !== 'custom') return true;
    const key = `${pool}/${name.split('/')[0] ?? ''}`;
    if (member === this.#members.here) return this.#records.volumes.has(key);
    return this.#records.others.having('volumes', key).some((one) => one.member === member);
  }

  /** Another member that has the image unpacked in the pool, if this one does not. */
  #unpackerOf(image: string, pool: string): number | undefined {
    const isIt = ({ document }: { readonly document: ImageDocument }): boolean =>
      document.unpackedIn?.includes(pool) === true;
    const own = this.#records.images.get(image);
    return own !== undefined && isIt(own) ? undefined : otherHolders(this.#records, image).find(isIt)?.member;
  }
}

/** Only the member that has the object knows its state, or the secret of an image. */
const asksOneMember = (query: RoutedRequest['query']): boolean =>
  recursionOf(query) > 0 || (query['secret'] ?? '') !== '';

function groupIn(target = ''): string | undefined {
  return target.startsWith('@') ? target.slice(1) : undefined;
}

/** Ids of operations begin with the number of their member, so that any member can route to it. */
export function operationIdOf(member: number, random: string): string {
  return member === 0 ? random : member.toString(16).padStart(4, '0') + random.slice(4);
}

export function numberInOperation(id: string): number | undefined {
  const number = Number.parseInt(id.slice(0, 4), 16);
  return Number.isNaN(number) ? undefined : number;
}
