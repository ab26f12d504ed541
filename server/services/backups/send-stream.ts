// Reads the streams of a btrfs backup before btrfs does: whoever receives one carries out its commands as root, by paths. Each stream
// passes only when none of its commands leads out of its own tree, and gets ids that nothing else on this host has.
import { randomBytes } from 'node:crypto';
import { DriverError } from '../../drivers/driver-error.ts';
import { assertNever } from '../../lib/shared/assert-never.ts';

/** One for all streams of a backup, in their order: a stream may build on an earlier one. */
export interface StreamChain {
  /** The same stream with new ids. Throws DriverError Invalid at the first command that is not harmless. */
  next(source: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer>;
}

/** Directories are maps; of the rest only the kind counts. */
type Node = Tree | 'file' | 'link' | 'other';
type Tree = Map<string, Node>;

const magic = Buffer.from('btrfs-stream\0');
const headerBytes = 10;
/** The kernel writes 48 KiB at a time. */
const maxCommandBytes = 256 * 1024;
const maxNodes = 4_000_000;
const maxPathBytes = 4096;

const commandOf = {
  subvolume: 1,
  snapshot: 2,
  mkfile: 3,
  mkdir: 4,
  mknod: 5,
  mkfifo: 6,
  mksock: 7,
  symlink: 8,
  rename: 9,
  link: 10,
  unlink: 11,
  rmdir: 12,
  setXattr: 13,
  removeXattr: 14,
  write: 15,
  clone: 16,
  truncate: 17,
  chmod: 18,
  chown: 19,
  utimes: 20,
  end: 21,
  updateExtent: 22,
} as const;
const attributeOf = { uuid: 1, rdev: 8, path: 15, pathTo: 16, pathLink: 17, cloneUuid: 20, clonePath: 22 } as const;

type CommandName = keyof typeof commandOf;
const nameOf = new Map<number, CommandName>(
  Object.entries(commandOf).map(([name, number]) => [number, name as CommandName]),
);

interface Command {
  readonly name: CommandName;
  readonly bytes: Buffer;
  readonly attributes: ReadonlyMap<number, Buffer>;
}

/** `allowNodes`: device nodes other than 0:0 are welcome. */
export function createStreamChain(options: { readonly allowNodes: boolean }): StreamChain {
  const trees = new Map<string, { readonly tree: Tree; readonly id: Buffer }>();
  return {
    async *next(source, what) {
      const stream = new StreamCheck(trees, options.allowNodes, what);
      for await (const command of commandsOf(source, what)) {
        yield 'name' in command ? stream.pass(command) : command;
      }
    },
  };
}

/** The head of the stream as bytes, then its commands up to the last. */
async function* commandsOf(source: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer | Command> {
  const chunks = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const take = async (size: number): Promise<Buffer> => {
    const parts = [rest];
    let length = rest.length;
    while (length < size) {
      const { done, value } = await chunks.next();
      if (done === true) throw invalid(what, 'is cut off');
      parts.push(value);
      length += value.length;
    }
    const whole = parts.length === 1 ? rest : Buffer.concat(parts);
    rest = whole.subarray(size);
    return whole.subarray(0, size);
  };
  const head = await take(magic.length + 4);
  if (!head.subarray(0, magic.length).equals(magic)) throw invalid(what, 'is no stream of btrfs');
  const version = head.readUInt32LE(magic.length);
  if (version !== 1) throw invalid(what, `has version ${version} of btrfs streams; this release reads version 1`);
  yield head;
  for (;;) {
    const start = await take(headerBytes);
    const size = start.readUInt32LE(0);
    if (size > maxCommandBytes) throw invalid(what, `has a command of ${size} bytes`);
    const number = start.readUInt16LE(4);
    const name = nameOf.get(number);
    if (name === undefined) throw invalid(what, `has the unknown command ${number}`);
    const bytes = Buffer.concat([start, await take(size)]);
    yield { name, bytes, attributes: attributesOf(bytes, what) };
    if (name === 'end') break;
  }
  if (rest.length > 0 || (await chunks.next()).done !== true) throw invalid(what, 'goes on after its end');
}

function attributesOf(bytes: Buffer, what: string): ReadonlyMap<number, Buffer> {
  const found = new Map<number, Buffer>();
  for (let at = headerBytes; at < bytes.length;) {
    const size = at + 4 > bytes.length ? bytes.length : bytes.readUInt16LE(at + 2);
    if (at + 4 + size > bytes.length) throw invalid(what, 'has a damaged command');
    const type = bytes.readUInt16LE(at);
    // Which of two would count is up to the reader.
    if (found.has(type)) throw invalid(what, 'has a command that says something twice');
    found.set(type, bytes.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return found;
}

class StreamCheck {
  readonly #trees: Map<string, { readonly tree: Tree; readonly id: Buffer }>;
  readonly #allowNodes: boolean;
  readonly #what: string;
  #tree: Tree | undefined;
  #nodes = 0;

  constructor(trees: Map<string, { tree: Tree; id: Buffer }>, allowNodes: boolean, what: string) {
    this.#trees = trees;
    this.#allowNodes = allowNodes;
    this.#what = what;
  }

  pass(command: Command): Buffer {
    if (command.name === 'end') return command.bytes;
    if (command.name === 'subvolume' || command.name === 'snapshot') return this.#begin(command);
    this.#judge(command);
    if (command.name !== 'clone') return command.bytes;
    const from = this.#source(command);
    this.#file(from.tree, this.#path(command, 'clonePath'));
    return this.#sealed(command, [[attributeOf.cloneUuid, from.id]]);
  }

  #begin(command: Command): Buffer {
    if (this.#tree !== undefined) throw this.#refuse(`brings more than one volume`);
    const name = this.#path(command, 'path');
    if (name === '' || name.includes('/')) throw this.#refuse(`calls its volume ${JSON.stringify(name)}`);
    const id = randomBytes(16);
    const parent = command.name === 'snapshot' ? this.#source(command) : undefined;
    this.#tree = parent === undefined ? new Map() : copyOf(parent.tree);
    this.#trees.set(this.#attribute(command, 'uuid').toString('hex'), { tree: this.#tree, id });
    return this.#sealed(command, [
      [attributeOf.uuid, id],
      ...(parent === undefined ? [] : ([[attributeOf.cloneUuid, parent.id]] as const)),
    ]);
  }

  #judge(command: Command): void {
    const tree = this.#tree;
    if (tree === undefined) throw this.#refuse('begins with something else than a volume');
    const path = this.#path(command, 'path');
    switch (command.name) {
      case 'mkdir':
        return this.#add(tree, path, new Map());
      case 'mkfile':
        return this.#add(tree, path, 'file');
      case 'symlink':
        return this.#add(tree, path, 'link');
      case 'mkfifo':
      case 'mksock':
        return this.#add(tree, path, 'other');
      case 'mknod':
        this.#checkNode(command, path);
        return this.#add(tree, path, 'other');
      case 'link': {
        const target = this.#find(tree, this.#path(command, 'pathLink'));
        if (target instanceof Map) throw this.#refuse(`links to a directory as ${shown(path)}`);
        return this.#add(tree, path, target);
      }
      case 'rename':
        return this.#rename(tree, path, this.#path(command, 'pathTo'));
      case 'unlink':
      case 'rmdir':
        return this.#remove(tree, path);
      // Through a link these would change another file.
      case 'write':
      case 'clone':
      case 'truncate':
      case 'updateExtent':
        return this.#file(tree, path);
      case 'chmod':
        if (this.#find(tree, path) === 'link') throw this.#refuse(`changes ${shown(path)} through a link`);
        return undefined;
      // Of a link these change the link itself.
      case 'chown':
      case 'utimes':
      case 'setXattr':
      case 'removeXattr':
        this.#find(tree, path);
        return undefined;
      case 'subvolume':
      case 'snapshot':
      case 'end':
        return undefined;
      default:
        return assertNever(command.name);
    }
  }

  #checkNode(command: Command, path: string): void {
    const device = this.#attribute(command, 'rdev');
    if (this.#allowNodes || device.every((byte) => byte === 0)) return;
    throw this.#refuse(`has the device node ${shown(path)}, which only a privileged container may have`);
  }

  #source(command: Command): { readonly tree: Tree; readonly id: Buffer } {
    const source = this.#trees.get(this.#attribute(command, 'cloneUuid').toString('hex'));
    if (source === undefined) throw this.#refuse('builds on a volume that is not in the backup');
    return source;
  }

  #add(tree: Tree, path: string, node: Node): void {
    const { parent, name } = this.#place(tree, path);
    if (parent.has(name)) throw this.#refuse(`makes ${shown(path)} twice`);
    this.#nodes += 1;
    if (this.#nodes > maxNodes) throw this.#refuse(`has more than ${maxNodes} files`);
    parent.set(name, node);
  }

  #remove(tree: Tree, path: string): void {
    const { parent, name } = this.#place(tree, path);
    const node = this.#find(tree, path);
    if (node instanceof Map && node.size > 0) throw this.#refuse(`removes ${shown(path)}, which is not empty`);
    parent.delete(name);
  }

  #rename(tree: Tree, from: string, to: string): void {
    if (to === from || to.startsWith(`${from}/`)) throw this.#refuse(`moves ${shown(from)} into itself`);
    const node = this.#find(tree, from);
    const [old, fresh] = [this.#place(tree, from), this.#place(tree, to)];
    if (fresh.parent.has(fresh.name)) throw this.#refuse(`moves ${shown(from)} over ${shown(to)}`);
    old.parent.delete(old.name);
    fresh.parent.set(fresh.name, node);
  }

  #file(tree: Tree, path: string): void {
    if (this.#find(tree, path) !== 'file') throw this.#refuse(`writes to ${shown(path)}, which is no plain file`);
  }

  #find(tree: Tree, path: string): Node {
    if (path === '') return tree;
    const { parent, name } = this.#place(tree, path);
    const node = parent.get(name);
    if (node === undefined) throw this.#refuse(`speaks of ${shown(path)}, which is not there`);
    return node;
  }

  /** Every directory on the way is a directory of this tree. */
  #place(tree: Tree, path: string): { readonly parent: Tree; readonly name: string } {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let parent = tree;
    for (const part of parts) {
      const node = parent.get(part);
      if (!(node instanceof Map)) throw this.#refuse(`goes to ${shown(path)} through ${node ?? 'nothing'}`);
      parent = node;
    }
    return { parent, name };
  }

  #path(command: Command, which: 'path' | 'pathTo' | 'pathLink' | 'clonePath'): string {
    const bytes = this.#attribute(command, which);
    const path = bytes.toString('latin1');
    const isClean = path === '' || path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
    if (!isClean || path.includes('\0') || bytes.length >= maxPathBytes)
      throw this.#refuse(`has the path ${shown(path)}`);
    return path;
  }

  #attribute(command: Command, which: keyof typeof attributeOf): Buffer {
    const value = command.attributes.get(attributeOf[which]);
    if (value === undefined) throw this.#refuse(`has a ${command.name} without ${which}`);
    return value;
  }

  #sealed(command: Command, ids: readonly (readonly [number, Buffer])[]): Buffer {
    const bytes = Buffer.from(command.bytes);
    for (const [type, id] of ids) {
      const old = command.attributes.get(type);
      if (old?.length !== id.length) throw this.#refuse(`has a damaged ${command.name}`);
      id.copy(bytes, old.byteOffset - command.bytes.byteOffset);
    }
    bytes.writeUInt32LE(0, 6);
    bytes.writeUInt32LE(checksum(bytes), 6);
    return bytes;
  }

  #refuse(why: string): DriverError {
    return invalid(this.#what, why);
  }
}

function copyOf(tree: Tree): Tree {
  return new Map([...tree].map(([name, node]) => [name, node instanceof Map ? copyOf(node) : node]));
}

const shown = (path: string): string => JSON.stringify(Buffer.from(path, 'latin1').toString('utf8').slice(0, 120));
const invalid = (what: string, why: string): DriverError => new DriverError('Invalid', `${what} of the backup ${why}`);

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

/** CRC-32C as btrfs has it: from 0, not inverted. */
function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return crc >>> 0;
}
