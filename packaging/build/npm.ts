// The package for npm, the same whatever the mask of the builder: npm takes the modes of the files, so it packs a copy that has those of tree.ts.
import { resolve } from 'node:path';
import { run } from './run.ts';
import { fileEntry, withTree } from './tree.ts';

const pack = (folder: string, ...args: readonly string[]): string =>
  run('npm', ['pack', folder, '--ignore-scripts', ...args]);

export function packNpm(folder: string, target: string, epoch: number): void {
  const source = resolve(folder);
  const [listed] = JSON.parse(pack(source, '--dry-run', '--json')) as [{ files: readonly { path: string }[] }];
  const tree = new Map(listed.files.map(({ path }) => [path, fileEntry(resolve(source, path))] as const));
  withTree(tree, epoch, (stage) => pack(stage, '--silent', '--pack-destination', target));
}
