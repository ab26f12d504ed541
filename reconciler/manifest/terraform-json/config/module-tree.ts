// The modules of a configuration: the root, and the local modules that its blocks call. Remote modules are refused.
import { posix, resolve } from 'node:path';
import type { Problem, Report } from '../problem.ts';
import type { Config, ConfigFile, ModuleCall } from './blocks.ts';
import { readConfig } from './read-config.ts';

export interface ModuleTree {
  readonly config: Config;
  /** `module.net.module.sub.`; of the root nothing. Without keys of instances. */
  readonly prefix: string;
  /** The value of `path.module`. */
  readonly path: string;
  /** Absent for the root. */
  readonly call?: ModuleCall;
  readonly parent?: ModuleTree;
  readonly children: ReadonlyMap<string, ModuleTree>;
}

/** The files of a folder, or the reason why there are none. */
export type ModuleFiles = ReadonlyMap<string, readonly ConfigFile[] | string>;

/** Deeper calls mean that a module calls itself. */
const maxDepth = 16;

/** `./net` and `../net`; Terraform would have to download any other source. */
export const isLocalSource = (source: string): boolean => /^\.\.?(?:\/|$)/.test(source);

/** `folder`: of the root, absolute or not. */
export function readModules(
  files: readonly ConfigFile[],
  folder: string,
  modules: ModuleFiles,
  report: Report,
): ModuleTree {
  const root = resolve(folder);
  const reading = { root, modules, report };
  return treeOf({ files, prefix: '', path: '.', folder: root }, reading, 0);
}

interface Reading {
  readonly root: string;
  readonly modules: ModuleFiles;
  readonly report: Report;
}

interface Branch extends Pick<ModuleTree, 'prefix' | 'path' | 'call' | 'parent'> {
  readonly files: readonly ConfigFile[];
  readonly folder: string;
}

function treeOf({ files, folder, ...branch }: Branch, reading: Reading, depth: number): ModuleTree {
  const config = readConfig(files, reading.report, branch.prefix);
  const children = new Map<string, ModuleTree>();
  const tree: ModuleTree = { ...branch, config, children };
  for (const call of config.modules.values()) {
    const found = filesOf(call, folder, reading, depth);
    if (found === undefined) continue;
    const below = resolve(folder, found.source);
    const path = posix.relative(reading.root, below) || '.';
    const prefix = `${branch.prefix}module.${call.name}.`;
    children.set(
      call.name,
      treeOf({ files: found.files, folder: below, prefix, path, call, parent: tree }, reading, depth + 1),
    );
  }
  return tree;
}

function filesOf(
  call: ModuleCall,
  folder: string,
  { modules, report }: Reading,
  depth: number,
): { readonly files: readonly ConfigFile[]; readonly source: string } | undefined {
  const { source } = call.body;
  const refuse = (message: string): undefined => {
    const { file, steps, construct } = call;
    const problem: Problem = { code: 'E_MODULE', message: `module.${call.name}: ${message}`, file, steps };
    report(construct === undefined ? problem : { ...problem, construct });
    return undefined;
  };
  if (typeof source !== 'string') return refuse('source is missing');
  if (!isLocalSource(source)) return refuse(`${source} is not in a folder here`);
  if (depth >= maxDepth) return refuse(`modules call each other deeper than ${maxDepth}`);
  const files = modules.get(resolve(folder, source)) ?? `${source} cannot be read from here`;
  return typeof files === 'string' ? refuse(files) : { files, source };
}
