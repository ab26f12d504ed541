// Checks the streams of a btrfs backup before btrfs receives them and runs their commands as root, by path. A stream passes only if none of
// its commands leaves its own tree; it gets ids that are unique on this host.
import { type Command, attributeOf, checksum, commandsOf, invalid } from './send-commands.ts';
import { randomBytes } from 'node:crypto';
import type { DriverError } from '../../../drivers/driver-error.ts';
import { assertNever } from '../../../lib/shared/assert-never.ts';

/** One for all streams of a backup, in order: a stream may build on an earlier one. */
export interface StreamChain {
  /** The same stream with new ids. Throws DriverError Invalid at the first harmful command. */
  next(source: AsyncIterable<Buffer>, what: string): AsyncGenerator<Buffer>;
}

/** Directories are maps; of other nodes only the kind matters. */
type Node = Tree | 'file' | 'link' | 'other';
type Tree = Map<string, Node>;

const maxNodes = 4_000_000;
const maxPathBytes = 4096;

/** `allowNodes`: accepts device nodes other than 0:0. */
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
    if (this.#tree !== undefined) throw this.#refuse('has more than one volume');
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
      // A link in the path would redirect these to another file.
      case 'write':
      case 'clone':
      case 'truncate':
      case 'updateExtent':
        return this.#file(tree, path);
      case 'chmod':
        if (this.#find(tree, path) === 'link') throw this.#refuse(`changes ${shown(path)} through a link`);
        return undefined;
      // These commands change a link itself, not its target.
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
    if (node === undefined) throw this.#refuse(`refers to ${shown(path)}, which does not exist`);
    return node;
  }

  /** Every directory on the path is a directory of this tree. */
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
