// Reads the folders of local modules and of the modules they call: every *.tf.json of each, or the reason why a folder is not a module.
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isMap } from '../../core/documents/json-values.ts';
import type { Json } from '../../core/documents/document.ts';
import { inFence } from '../text/fence.ts';
import { PlacedText } from '../text/locate-diagnostics.ts';
import { parseJson } from '../text/parse-json.ts';
import type { RawDocument } from '../text/parse-yaml.ts';
import { readSources } from '../text/sources.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { listOf, type ConfigFile } from '../terraform-json/config/blocks.ts';
import { isLocalSource } from '../terraform-json/config/module-tree.ts';

export interface Part {
  readonly source: PlacedText;
  readonly raw: RawDocument;
}

export interface ReadModules {
  /** By absolute folder. */
  readonly modules: Map<string, readonly ConfigFile[] | string>;
  readonly parts: readonly Part[];
  readonly diagnostics: readonly Diagnostic[];
}

/** `folder`: of the root, which paths in documents of modules are relative to. */
export async function readModuleFiles(
  files: readonly ConfigFile[],
  folder: string,
  signal?: AbortSignal,
): Promise<ReadModules> {
  const modules = new Map<string, readonly ConfigFile[] | string>();
  const parts: Part[] = [];
  const diagnostics: Diagnostic[] = [];
  const read = async (below: string, shown: string): Promise<void> => {
    if (modules.has(below)) return;
    const names = await namesIn(below, shown);
    modules.set(below, typeof names === 'string' ? names : []);
    if (typeof names === 'string') return;
    const found = await readSources({ paths: names.map((name) => join(below, name)) }, signal);
    diagnostics.push(...found.diagnostics);
    const members: ConfigFile[] = [];
    for (const text of found.texts) {
      const source = new PlacedText({ ...text, folder });
      const parsed = parseJson(text.text);
      diagnostics.push(...parsed.problems.map((problem) => source.diagnosticOf(problem)));
      for (const raw of parsed.documents) {
        parts.push({ source, raw });
        members.push({ file: text.file, folder: below, value: raw.value });
      }
    }
    modules.set(below, members);
    await follow(members, below);
  };
  const follow = async (members: readonly ConfigFile[], from: string): Promise<void> => {
    for (const source of members.flatMap(({ value }) => sourcesIn(value))) await read(resolve(from, source), source);
  };
  await follow(files, resolve(folder));
  return { modules, parts, diagnostics };
}

const listed = async (folder: string): Promise<string[]> => readdir(inFence(folder));

async function namesIn(folder: string, shown: string): Promise<readonly string[] | string> {
  const all = await listed(folder).catch((error: NodeJS.ErrnoException) => error);
  if (!Array.isArray(all)) return all.code === 'ENOENT' ? `there is no folder ${shown}` : all.message;
  const hcl = all.find((name) => name.endsWith('.tf'));
  if (hcl !== undefined) return `${shown} holds ${hcl}, which is HCL and not read: write it as Terraform JSON`;
  const names = all.filter((name) => name.endsWith('.tf.json')).sort();
  return names.length === 0 ? `${shown} holds no *.tf.json file` : names;
}

function sourcesIn(value: Json): readonly string[] {
  const blocks = isMap(value) ? listOf(value['module']) : [];
  return blocks
    .flatMap((block) => Object.values(block))
    .flatMap((calls) => listOf(calls).map(({ source }) => source))
    .filter((source) => typeof source === 'string')
    .filter(isLocalSource);
}
