// Reads, writes and deletes files of containers for clients. drivers/files walks trees safely.
import type { Readable } from 'node:stream';
import type { EntryAttributes, ReadEntry } from '../../../drivers/files/driver.ts';
import { makeDirectory, makeSymlink, removeEntry } from '../../../drivers/files/make.ts';
import { readEntry } from '../../../drivers/files/read.ts';
import { writeFile } from '../../../drivers/files/write.ts';
import { fileTree, type FileTreeDeps } from './file-tree.ts';

export interface FileWrite extends EntryAttributes {
  readonly append: boolean;
}

/** Paths are bytes, as in a file system; relative ones start at `/`. */
export class ContainerFiles {
  readonly #deps: FileTreeDeps;

  constructor(deps: FileTreeDeps) {
    this.#deps = deps;
  }

  async read(name: string, path: Buffer): Promise<ReadEntry> {
    return readEntry(await fileTree(this.#deps, name), path);
  }

  async write(name: string, path: Buffer, content: Readable, write: FileWrite, signal: AbortSignal): Promise<void> {
    await writeFile(await fileTree(this.#deps, name), path, content, write, signal);
  }

  async makeDirectory(name: string, path: Buffer, wanted: EntryAttributes): Promise<void> {
    await makeDirectory(await fileTree(this.#deps, name), path, wanted);
  }

  async makeSymlink(name: string, path: Buffer, target: Buffer, wanted: EntryAttributes): Promise<void> {
    await makeSymlink(await fileTree(this.#deps, name), path, target, wanted);
  }

  async delete(name: string, path: Buffer): Promise<void> {
    await removeEntry(await fileTree(this.#deps, name), path);
  }
}
