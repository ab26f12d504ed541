// Writes the archive of a backup: index first, then snapshots and their owner, each as files or as the pool's own stream.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { driverErrors } from '../../../drivers/driver-error.ts';
import type { ExportForm, PoolSpec, StorageDriver, TreeRef, VolumeRef } from '../../../drivers/storage/driver.ts';
import { sealed } from '../../../lib/shared/tar-headers.ts';
import { gather } from './join-chunks.ts';
import { packInto, type Write } from '../../shared/compression.ts';
import type { Room } from '../../shared/room.ts';
import type { RenderedIndex } from './index-head.ts';
import { prefixOf, type BackupType } from './layout.ts';
import type { OwnerOf } from '../migration/owners.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface TarballPlan {
  readonly path: string;
  readonly type: BackupType;
  readonly packer: readonly string[] | undefined;
  readonly index: RenderedIndex;
  readonly volume: VolumeRef;
  /** The volume, frozen if possible. */
  readonly frozen: TreeRef;
  /** Oldest first: each is the parent of the next one's stream. */
  readonly snapshots: readonly string[];
  readonly optimized: boolean;
  /** Seconds since 1970, for members generated here. */
  readonly timeS: number;
  readonly room: Room;
  /** The volume (undefined) and each snapshot have an entry if their owners on disk are not those that the container sees. */
  readonly owners: ReadonlyMap<string | undefined, OwnerOf>;
}

/** Files outside the container, or made again for each backup. A volume is packed whole. */
const leftOut: Readonly<Record<BackupType, readonly string[]>> = {
  container: ['backup.yaml', '.unfinished'],
  custom: [],
};

/** On a throw a part of the file may remain: the caller removes it. */
export async function writeTarball(
  { driver, pool }: { readonly driver: StorageDriver; readonly pool: PoolSpec },
  plan: TarballPlan,
  progress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const fill = async (write: Write): Promise<void> => {
    let written = 0;
    const put: Write = async (chunk) => {
      await write(chunk);
      written += chunk.length;
      progress(written);
    };
    await put(textMember('backup/index.yaml', plan.index.index, plan.timeS));
    const parts = [...plan.snapshots, undefined];
    for (const [index, snapshot] of parts.entries()) {
      const part = { driver, pool, snapshot, parent: index === 0 ? undefined : parts[index - 1] };
      await (plan.optimized ? putStream(plan, part, put, signal) : putFiles(plan, part, put, signal));
    }
    await put(Buffer.alloc(1024));
  };
  await packInto(plan.path, plan.packer, fill, signal, plan.room);
}

interface Part {
  readonly driver: StorageDriver;
  readonly pool: PoolSpec;
  /** Undefined: the owner itself. */
  readonly snapshot: string | undefined;
  readonly parent: string | undefined;
}

const refOf = (plan: TarballPlan, snapshot: string | undefined): TreeRef =>
  snapshot === undefined ? plan.frozen : { volume: plan.volume, snapshot };

async function putFiles(plan: TarballPlan, part: Part, put: Write, signal: AbortSignal): Promise<void> {
  const prefix = prefixOf(plan.type, part.snapshot);
  const ownerOf = plan.owners.get(part.snapshot);
  const form: ExportForm = {
    kind: 'tar',
    prefix,
    isPart: true,
    without: leftOut[plan.type],
    ...withoutUndefined({ ownerOf }),
  };
  await part.driver.exportVolume(part.pool, refOf(plan, part.snapshot), form, (bytes) => putAll(bytes, put), signal);
  if (plan.index.beside !== undefined) await put(textMember(`${prefix}/backup.yaml`, plan.index.beside, plan.timeS));
}

/** An archive needs a member's size before its content: the stream is written to a file first. */
async function putStream(plan: TarballPlan, part: Part, put: Write, signal: AbortSignal): Promise<void> {
  const temporary = `${plan.path}.${randomUUID()}`;
  const { parent } = part;
  const form: ExportForm = { kind: 'native', ...withoutUndefined({ parent }) };
  try {
    await part.driver.exportVolume(
      part.pool,
      refOf(plan, part.snapshot),
      form,
      (bytes) => packInto(temporary, undefined, (write) => putAll(bytes, write), signal),
      signal,
    );
    const { size } = await stat(temporary);
    await put(header(`${prefixOf(plan.type, part.snapshot)}.bin`, size, 0o600, plan.timeS));
    await putAll(createReadStream(temporary, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>, put);
    await put(paddingOf(size));
  } finally {
    await rm(temporary, { force: true });
  }
}

async function putAll(bytes: AsyncIterable<Buffer>, put: Write): Promise<void> {
  for await (const chunk of gather(bytes)) await put(chunk);
}

function textMember(name: string, text: string, timeS: number): Buffer {
  const content = Buffer.from(text);
  return Buffer.concat([header(name, content.length, 0o644, timeS), content, paddingOf(content.length)]);
}

const blockSize = 512;
const paddingOf = (size: number): Buffer => Buffer.alloc((blockSize - (size % blockSize)) % blockSize);

/** The header of a plain file of root. */
function header(name: string, size: number, mode: number, timeS: number): Buffer {
  const block = Buffer.alloc(blockSize);
  if (Buffer.byteLength(name) > 100) throw driverErrors.failed(`the name ${name} is too long for an archive`);
  block.write(name, 0);
  block.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  if (size < 8 ** 11) block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(size), 128);
  }
  block.write(`${timeS.toString(8).padStart(11, '0')}\0`, 136);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  return sealed(block);
}
