// Unpacks an inspected backup into a pool, part by part.
import type { BackupIndex } from './index-yaml.ts';
import type { PoolSpec, StorageDriver } from '../../../drivers/storage/driver.ts';
import type { OfSnapshot } from '../../storage/volume-shapes.ts';
import { treeOf } from '../migration/owners.ts';
import { eachMember } from './tarball-reader.ts';
import { type Section, sectionOf } from './layout.ts';
import { createStreamChain } from './send-stream.ts';
import type { TarMember } from '../../../drivers/image/tar-reader.ts';
import { memberWithAcls } from '../../../drivers/image/tar-acls.ts';
import { gather } from './join-chunks.ts';

interface Store {
  readonly driver: StorageDriver;
  readonly pool: PoolSpec;
}

export interface UnpackPlan {
  readonly ofSnapshot: OfSnapshot;
  readonly index: BackupIndex;
  /** A privileged container keeps its device nodes, and so does a trusted caller's volume. */
  readonly keepNodes: boolean;
}

/** Call after inspectBackup has accepted it. On a throw a part may remain: the caller deletes the volume with its snapshots. */
export async function unpackBackup(
  path: string,
  store: Store,
  plan: UnpackPlan,
  progress: (part: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await eachMember(
    path,
    () => Number.MAX_SAFE_INTEGER,
    signal,
    async (members) => {
      const { index } = plan;
      const native = nativeForm(plan);
      let next = await members.next();
      const current = (): TarMember | undefined => (next.done === true ? undefined : next.value);
      const advance = async (): Promise<void> => {
        next = await members.next();
      };
      for (let member = current(); member !== undefined; member = current()) {
        const section = sectionOf(member.name, index);
        if (section === undefined) {
          await advance();
          continue;
        }
        const inPart = (): TarMember | undefined => {
          const each = current();
          return each !== undefined && sectionOf(each.name, index)?.prefix === section.prefix ? each : undefined;
        };
        progress(section.prefix);
        await unpackPart(store, plan, { section, first: member, inPart, advance, native }, signal);
        while (inPart() !== undefined) await advance();
      }
    },
  );
}

interface NativeForm {
  readonly checked: (stream: AsyncIterable<Buffer>, what: string) => AsyncIterable<Buffer>;
  /** Its driver checks for device nodes after receiving it. */
  readonly isStrange: boolean;
}

/** btrfs runs commands by path, which are checked before; ZFS only fills a new dataset. */
function nativeForm({ index, keepNodes }: UnpackPlan): NativeForm {
  if (index.backend !== 'btrfs') return { checked: (stream) => stream, isStrange: !keepNodes };
  const chain = createStreamChain({ allowNodes: keepNodes });
  return { checked: (stream, what) => chain.next(stream, what), isStrange: false };
}

interface Part {
  readonly section: Section;
  readonly first: TarMember;
  /** The current member if it belongs to this part. */
  readonly inPart: () => TarMember | undefined;
  readonly advance: () => Promise<void>;
  readonly native: NativeForm;
}

async function unpackPart(
  { driver, pool }: Store,
  { ofSnapshot, index, keepNodes }: UnpackPlan,
  { section, first, inPart, advance, native }: Part,
  signal: AbortSignal,
): Promise<void> {
  const to = treeOf(ofSnapshot(section.snapshot), section.snapshot);
  if (index.optimized) {
    const stream = native.checked(first.content(), `${section.prefix}.bin`);
    return driver.importVolume(pool, to, stream, { kind: 'native', strange: native.isStrange }, signal);
  }
  async function* blocks(): AsyncGenerator<Buffer> {
    for (let member = inPart(); member !== undefined; member = inPart()) {
      if (index.type === 'custom' || isWanted(member, section)) yield* memberWithAcls(member);
      await advance();
    }
    yield Buffer.alloc(1024);
  }
  const form = { kind: 'tar', prefix: section.prefix, strange: !keepNodes } as const;
  await driver.importVolume(pool, to, gather(blocks()), form, signal);
}

/** The contents of a container's volume; other members concern the system that made the backup. */
function isWanted({ name }: TarMember, { prefix }: Section): boolean {
  const [top] = name
    .slice(prefix.length)
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  return top === 'rootfs' || top === 'metadata.yaml' || top === 'templates';
}
