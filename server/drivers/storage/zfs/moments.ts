// Which snapshot of ZFS has the content of a tree that does not change, and what streams between such snapshots say of themselves. Pure.

/** Marks a clone that nothing is ever written to: its content is that of its origin. */
export const stillProperty = 'gantry:still';

/** The snapshot of what a stream brought. */
export const received = 'received';
/** The snapshot of what does not change: an unpacked image, or a snapshot of a volume. */
export const sealed = 'sealed';

const listed = [
  'zfs',
  'list',
  '-H',
  '-p',
  '-o',
  `name,guid,createtxg,origin,${stillProperty}`,
  '-t',
  'filesystem,volume,snapshot',
];

export const streamCommands = {
  /** Datasets and the snapshots right in them. */
  moments: (datasets: readonly string[]) => [...listed, '-r', '-d', '1', ...datasets],
  /** Each alone. */
  look: (names: readonly string[]) => [...listed, ...names],
  /** `base`: only what differs from it. Properties stay here. */
  send: (snapshot: string, base: string | undefined) => [
    'zfs',
    'send',
    ...(base === undefined ? [] : ['-i', base]),
    snapshot,
  ],
  /** A new dataset with one snapshot; on top of a base it is a clone of it. */
  receive: (snapshot: string, base: string | undefined) => [
    'zfs',
    'receive',
    '-u',
    ...(base === undefined ? [] : ['-o', `origin=${base}`]),
    snapshot,
  ],
} as const;

export interface Look {
  /** It has an `@` when it is a snapshot. */
  readonly name: string;
  readonly guid: string;
  readonly createdIn: number;
  readonly origin: string | undefined;
  readonly isStill: boolean;
}

export const looksIn = (stdout: string): readonly Look[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [name = '', guid = '', createdIn, origin = '-', still] = line.split('\t');
      return {
        name,
        guid,
        createdIn: Number(createdIn),
        origin: origin === '-' || origin === '' ? undefined : origin,
        isStill: still === 'yes',
      };
    });

/** The snapshot with the content of the dataset; undefined: none has it yet. */
export function momentOf(dataset: string, looks: readonly Look[]): string | undefined {
  const has = (name: string): string | undefined => looks.find((look) => look.name === `${dataset}@${name}`)?.name;
  const itself = looks.find(({ name }) => name === dataset);
  return has(received) ?? (itself?.isStill === true ? itself.origin : undefined) ?? has(sealed);
}

/** ZFS sends what differs from an earlier snapshot of the same dataset, or from what that is a clone of. */
export function canBuildOn(base: Look, target: Look, looks: readonly Look[]): boolean {
  const datasetOf = ({ name }: Look): string => name.split('@')[0] ?? '';
  if (datasetOf(base) === datasetOf(target)) return base.createdIn < target.createdIn;
  return looks.find(({ name }) => name === datasetOf(target))?.origin === base.name;
}

export const headBytes = 312;

interface StreamHead {
  /** The snapshot that it builds on; undefined: none. */
  readonly base: string | undefined;
  /** A block volume, whose file system is whatever the sender put there. */
  readonly isBlock: boolean;
}

/** What a stream begins with. Throws an Error that says why it is not one of a single volume. */
export function headOf(head: Buffer): StreamHead {
  if (head.length < headBytes) throw new Error('it is too short');
  const isLittle = head.readBigUInt64LE(8) === 0x2f5bacbacn;
  if (!isLittle && head.readBigUInt64BE(8) !== 0x2f5bacbacn) throw new Error('it is none of ZFS');
  const number = (offset: number): number => (isLittle ? head.readUInt32LE(offset) : head.readUInt32BE(offset));
  const long = (offset: number): bigint => (isLittle ? head.readBigUInt64LE(offset) : head.readBigUInt64BE(offset));
  const [kind, content] = [Number(long(16) & 3n), number(32)];
  if (number(0) !== 0 || kind !== 1) throw new Error('it holds several snapshots');
  if (content !== 2 && content !== 3) throw new Error('it is not that of a file system or a block volume');
  const base = long(48);
  return { base: base === 0n ? undefined : String(base), isBlock: content === 3 };
}
