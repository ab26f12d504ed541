// Where a request is carried out: here, at the member that has the object, or at several. Pure but for looking up who has what.
import { errors } from '../api/errors.ts';
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import type { ImageDocument } from '../records/documents.ts';
import type { Records } from '../records/records.ts';
import { holdersOf, imagesOfCluster, otherHolders } from './cluster-images.ts';
import { volumeOwner } from './volume-owner.ts';
import { placeVolume } from './placement.ts';
import { noMember, type Member, type Members } from './members.ts';

export interface RoutedRequest {
  readonly endpoint: Pick<Endpoint, 'id' | 'method' | 'path' | 'placedBy'>;
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

  /** The other member that carries it out; undefined: this one does. Throws AppError notFound for a target that is no member. */
  memberFor(request: RoutedRequest): Member | undefined {
    const number = this.#numberFor(request);
    return number === undefined || number === this.#members.here ? undefined : this.#members.byNumber(number);
  }

  /** The other member whose operation it is, by its id. */
  memberOfOperation(id: string): Member | undefined {
    const number = numberInOperation(id);
    return number === this.#members.here || number === undefined ? undefined : this.#members.byNumber(number);
  }

  #numberFor({ endpoint, params, query }: RoutedRequest): number | undefined {
    const { id, path } = endpoint;
    const group = groupIn(query['target']);
    if (group !== undefined && needsOneMember(id))
      throw errors.badRequest(`The target @${group} is a group, and this request is for one member: name it`);
    const target = this.#targetOf(query['target']);
    if (path.startsWith('/1.0/containers/:name'))
      return isReadHere(id, query) ? undefined : this.#ownerOfContainer(params['name'] ?? '');
    if (path === '/1.0/cluster/members/:name/state') return this.#targetOf(params['name']);
    if (path.startsWith('/1.0/operations/:id')) return this.memberOfOperation(params['id'] ?? '')?.number;
    // A volume that the target has not goes there, which the member that was asked sees to.
    if (id === 'volumes.post' && group !== undefined) return undefined;
    if (id === 'volumes.post' && target !== undefined && !this.#hasVolume(target, params)) return undefined;
    if (path.startsWith(volumePath))
      return target ?? this.#ownerOfVolume(params['type'] ?? '', params['pool'] ?? '', params['name'] ?? '');
    if (path.startsWith('/1.0/images/:fingerprint')) return this.#holderOfImage(id, params['fingerprint'] ?? '', query);
    if (group !== undefined && takesGroup.has(id)) return placeVolume(this.#members.list(), `@${group}`).number;
    return takesTarget(id) ? target : undefined;
  }

  /** Whether the member for the request depends on what others wrote a moment ago: a volume may just have been moved or deleted there. For
   *  containers a wrong guess is corrected by another look. */
  dependsOnOthers({ endpoint: { path }, query }: RoutedRequest): boolean {
    return path.startsWith(volumePath) && this.#targetOf(query['target']) === undefined;
  }

  /** Changes and secrets are the matter of the member with the lowest number that has it; its files come from any. Lists and deletions
   *  are those of any member. */
  #holderOfImage(id: string, prefix: string, query: RoutedRequest['query']): number | undefined {
    const hasSecret = (query['secret'] ?? '') !== '';
    if (id === 'images.delete' || (id === 'images.get' && !hasSecret)) return undefined;
    const matching = imagesOfCluster(this.#records).filter(({ name }) => name.startsWith(prefix));
    const [image] = matching;
    // The member that was asked says what is wrong.
    if (image === undefined || matching.length > 1) return undefined;
    const holders = holdersOf(this.#records, image.name);
    if (id === 'images.export' && !hasSecret && holders.includes(this.#members.here)) return undefined;
    const isChange = id === 'images.put' || id === 'images.patch';
    return isChange ? holders[0] : (holders.find((each) => this.#members.isPresent(each)) ?? holders[0]);
  }

  /** The number of the member that `?target=` names. */
  #targetOf(name = ''): number | undefined {
    if (name === '' || name === noMember || name.startsWith('@')) return undefined;
    const member = this.#members.get(name);
    if (member === undefined) throw errors.notFound('cluster member', name);
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

  /** The other member that has it unpacked in the pool when this one has not. */
  #unpackerOf(image: string, pool: string): number | undefined {
    const isIt = ({ document }: { readonly document: ImageDocument }): boolean =>
      document.unpackedIn?.includes(pool) === true;
    const own = this.#records.images.get(image);
    return own !== undefined && isIt(own) ? undefined : otherHolders(this.#records, image).find(isIt)?.member;
  }
}

/** One object without its state is read from what this member knows of all. */
const isReadHere = (id: string, query: RoutedRequest['query']): boolean =>
  id === 'containers.get' && !(Number.parseInt(query['recursion'] ?? '0', 10) > 0);

/** Endpoints whose `target` says which member carries them out; on others it has a meaning of its own, or none. */
function takesTarget(id: string): boolean {
  return /^(server|resources|networks|pools|volumes)\./.test(id) && !clusterWide.has(id);
}

/** A volume comes to one of its members; where containers are made, and what moves them, is decided elsewhere. */
const takesGroup: ReadonlySet<string> = new Set(['volumes.create', 'volumes.createType', 'volumes.post']);
const needsOneMember = (id: string): boolean =>
  /^(server|resources|networks|pools|volumes|volumeSnapshots)\./.test(id) && !takesGroup.has(id);

function groupIn(target = ''): string | undefined {
  return target.startsWith('@') ? target.slice(1) : undefined;
}

/** `target` names a part of a change that the whole cluster makes. */
const clusterWide: ReadonlySet<string> = new Set(['networks.create', 'pools.create']);

/** Ids of operations begin with the number of their member, so that any member finds it without asking. */
export function operationIdOf(member: number, random: string): string {
  return member === 0 ? random : member.toString(16).padStart(4, '0') + random.slice(4);
}

export function numberInOperation(id: string): number | undefined {
  const number = Number.parseInt(id.slice(0, 4), 16);
  return Number.isNaN(number) ? undefined : number;
}
