// The numbers and structures of the kernel's calls about project quotas. Pure.

/** FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR. */
export const getAttributes = 0x801c581f;
export const setAttributes = 0x401c5820;
/** quotactl_fd(2): the same number on every architecture, from Linux 5.14. */
export const quotactlFd = 443;

const projectQuota = 2;
/** QCMD of quota.h. */
const command = (number: number): number => ((number << 8) | projectQuota) >>> 0;
export const readQuota = command(0x800007);
export const writeQuota = command(0x800008);
export const readState = command(0x5805);

const attributesBytes = 28;
const flagsAt = 0;
const projectAt = 12;
/** FS_XFLAG_PROJINHERIT: what is made in the directory gets its project. */
const inherits = 0x200;

export interface Project {
  /** 0: that of everything that has no other. */
  readonly id: number;
  readonly isInherited: boolean;
}

export const newAttributes = (): Buffer => Buffer.alloc(attributesBytes);

export const projectIn = (attributes: Buffer): Project => ({
  id: attributes.readUInt32LE(projectAt),
  isInherited: (attributes.readUInt32LE(flagsAt) & inherits) !== 0,
});

/** The attributes of a file with another project; a directory hands it on. */
export function withProject(attributes: Buffer, id: number, isDirectory: boolean): Buffer {
  const changed = Buffer.from(attributes);
  const flags = attributes.readUInt32LE(flagsAt);
  changed.writeUInt32LE(isDirectory ? (flags | inherits) >>> 0 : flags, flagsAt);
  changed.writeUInt32LE(id, projectAt);
  return changed;
}

const quotaBytes = 72;
const unit = 1024n;
const softAt = 8;
const limitsAreGiven = 1;
const maxUnits = 2n ** 52n;

export interface Quota {
  /** Undefined: no limit. */
  readonly limit: number | undefined;
  readonly used: number;
  readonly files: number;
  /** A tree is being given the project: not all of its files have it. */
  readonly isBeginning: boolean;
}

export const newQuota = (): Buffer => Buffer.alloc(quotaBytes);

export function quotaIn(block: Buffer): Quota {
  const limit = block.readBigUInt64LE(0);
  return {
    limit: limit === 0n ? undefined : Number(limit * unit),
    used: Number(block.readBigUInt64LE(16)),
    files: Number(block.readBigUInt64LE(40)),
    isBeginning: block.readBigUInt64LE(softAt) === maxUnits,
  };
}

/** What sets the limit of blocks, rounded up to 1 KiB, and nothing else. Undefined: none. The soft limit, which is never reached, notes a
 *  beginning where a crash leaves it. */
export function quotaWith(bytes: number | undefined, isBeginning = false): Buffer {
  const block = newQuota();
  const units = (BigInt(Math.ceil(bytes ?? 0)) + unit - 1n) / unit;
  block.writeBigUInt64LE(units > maxUnits ? maxUnits : units, 0);
  block.writeBigUInt64LE(isBeginning ? maxUnits : 0n, softAt);
  block.writeUInt32LE(limitsAreGiven, 64);
  return block;
}

/** The kernel writes fs_quota_stat, which is 80 bytes. */
export const newState = (): Buffer => Buffer.alloc(128);

/** Whether the use of projects is counted and their limits hold. */
export const holdsIn = (state: Buffer): boolean => (state.readUInt16LE(2) & 0x30) === 0x30;
