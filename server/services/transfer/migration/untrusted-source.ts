// Limits the files from a server that a restricted client chose: accepts only files that a container can hold, within the free space.
import { isTrue } from '../../../api/container/container-config.ts';
import type { ContainerMigrationOffer } from '../../../api/container/migration-messages.ts';
import { AppError } from '../../../api/errors.ts';
import { plainName, projectOf } from '../../../api/project/project-names.ts';
import { isRestricted, restriction } from '../../../api/project/project-restrictions.ts';
import { formatBinary } from '../../../api/text/byte-size.ts';
import { type DriverError, driverErrors } from '../../../drivers/driver-error.ts';
import type { ContainerDocument, SnapshotDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import type { Caller } from '../../shared/caller.ts';
import { rootSize } from '../../storage/root-size.ts';
import { expand } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import type { Pools } from '../../storage/pools.ts';
import type { TarMember } from './tar-members.ts';

/** Rules for files of an untrusted source. Its native streams are refused: they can be crafted to write elsewhere. */
export interface UntrustedFiles {
  /** The accepted entries of a volume's directory; undefined: all of them. */
  readonly tops?: readonly string[];
  /** True for a privileged container, which can create device nodes itself. */
  readonly keepNodes: boolean;
  /** Max bytes of one tree; undefined: the free space of the pool. */
  readonly maxBytes: number | undefined;
  /** Called with the received bytes and files of a tree; throws DriverError NoSpace. */
  readonly take: (bytes: number, files: number) => void;
}

const lowLevel = 'restricted.containers.lowlevel';

/** Whether the client has no access to this host except through the other server. */
export function isUntrustedSource(
  records: Pick<Records, 'projects'>,
  caller: Pick<Caller, 'class'>,
  name: string,
): boolean {
  if (caller.class !== 'restricted') return false;
  const config = records.projects.get(projectOf(name))?.document.config ?? {};
  return isRestricted(config) && restriction(config, lowLevel) !== 'allow';
}

/** Throws AppError forbidden: root of this host restores a checkpoint, and executes its instructions. */
export function refuseUntrustedCheckpoint(name: string): void {
  const project = projectOf(name);
  throw new AppError(
    'forbidden',
    `The project ${project} does not allow that ${plainName(name)} continues from a checkpoint of another server (${lowLevel} is block): migrate it with live: false`,
  );
}

export const withoutCheckpoints = (offer: ContainerMigrationOffer): ContainerMigrationOffer => ({
  ...offer,
  snapshots: offer.snapshots.map((one) => ({ ...one, stateful: false })),
});

export async function untrustedContainer(
  { records, pools }: { readonly records: Records; readonly pools: Pools },
  name: string,
  document: ContainerDocument,
  snapshots: readonly { readonly document: SnapshotDocument }[],
): Promise<UntrustedFiles> {
  const profileOf = profilesOf(records, name);
  const machines = [document, ...snapshots.map((one) => one.document)];
  return {
    tops: ['rootfs', 'metadata.yaml', 'templates'],
    // Each snapshot may become the container.
    keepNodes: machines.every((one) => isTrue(expand(one, profileOf).config['security.privileged'] ?? '')),
    maxBytes: rootSize(expand(document, profileOf).devices),
    take: await roomIn(pools, document.pool),
  };
}

export async function untrustedVolume(
  pools: Pools,
  pool: string,
  maxBytes: number | undefined,
): Promise<UntrustedFiles> {
  return { keepNodes: false, maxBytes, take: await roomIn(pools, pool) };
}

/** All trees of a migration together must fit. */
async function roomIn(pools: Pools, pool: string): Promise<UntrustedFiles['take']> {
  const room = await pools.room(pool);
  let [bytesLeft, filesLeft] = [room.bytes, room.entries];
  return (bytes, files) => {
    [bytesLeft, filesLeft] = [bytesLeft - bytes, filesLeft - files];
    if (bytesLeft < 0) throw tooMuch(`${formatBinary(room.bytes)} that are free in the pool ${pool}`);
    if (filesLeft < 0) throw tooMuch(`${room.entries} files that there is room for in the pool ${pool}`);
  };
}

/** The accepted members, without an end mark. */
export async function* harmless(
  members: AsyncIterable<TarMember>,
  { tops, keepNodes, maxBytes, take }: UntrustedFiles,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const member of members) {
    take(0, 1);
    const [top = ''] = member.name.split('/');
    if (top !== '' && tops?.includes(top) === false) continue;
    if (!keepNodes && isNode(member)) continue;
    yield member.head;
    for await (const piece of member.body()) {
      bytes += piece.length;
      take(piece.length, 0);
      if (maxBytes !== undefined && bytes > maxBytes) throw tooMuch(`${formatBinary(maxBytes)} that are its size here`);
      yield piece;
    }
  }
}

/** 0:0 stands for a deleted file in layered file systems. */
function isNode({ flag, head }: TarMember): boolean {
  const numbers = head.subarray(head.length - 512 + 329, head.length - 512 + 345).toString('latin1');
  return (flag === '3' || flag === '4') && /[1-9]/.test(numbers);
}

const tooMuch = (room: string): DriverError => driverErrors.noSpace(`what the source sends is more than the ${room}`);
