// Finds and reads the texts of a load: files, directories, stdin. It does not interpret them.
import { isUtf8 } from 'node:buffer';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import { compareText } from '../../core/text/listing-order.ts';
import { isComposeFile, isVariableFile } from './beside-manifests.ts';
import { inFence } from './fence.ts';
import { limits } from './parse-yaml.ts';
import type { LoadInput } from '../load-contract.ts';

export interface SourceText {
  /** As shown: the path given, or `<stdin>`. */
  readonly file: string;
  /** The folder to which its paths are relative. */
  readonly folder: string;
  readonly text: string;
}

export interface Sources {
  readonly texts: readonly SourceText[];
  readonly diagnostics: readonly Diagnostic[];
}

export async function readSources(input: LoadInput, signal?: AbortSignal): Promise<Sources> {
  const texts: SourceText[] = [];
  const diagnostics: Diagnostic[] = [];
  const seen = new Set<string>();
  const tried = async (path: string, work: () => Promise<void>): Promise<void> => {
    signal?.throwIfAborted();
    try {
      await work();
    } catch (error) {
      signal?.throwIfAborted();
      diagnostics.push(await unreadable(path, error as NodeJS.ErrnoException));
    }
  };
  const readFiles = async (path: string): Promise<void> => {
    const before = texts.length;
    let composed: string | undefined;
    for (const file of await (input.recursive === true ? filesBelow(path) : filesOf(path))) {
      if (seen.has(file)) continue;
      seen.add(file);
      // An unreadable file does not hide the problems of the others.
      await tried(file, async () => {
        const source = await readSource(file, input.stdin, signal);
        if (file !== path && isComposeFile(basename(file), source.text)) composed = file;
        else if (file === path || !isVariableFile(basename(file), source.text)) texts.push(source);
      });
    }
    if (composed !== undefined && texts.length === before)
      throw new Error(`holds no manifest beside ${basename(composed)}: gantry import compose ${composed} writes one`);
  };
  for (const path of input.paths) await tried(path, () => readFiles(path));
  return { texts, diagnostics };
}

const notHcl =
  'is HCL and not read: write it as Terraform JSON (*.tf.json; @cdktf/hcl2json turns one into the other), as a manifest, or apply it with Terraform';

/** Whether a folder that is given stands for this file of it. */
export const isManifestName = (name: string): boolean => /\.(ya?ml|tf\.json)$/.test(name);

async function filesOf(path: string): Promise<readonly string[]> {
  if (path === '-') return [path];
  if (!(await stat(inFence(path))).isDirectory()) {
    if (path.endsWith('.tf')) throw new Error(notHcl);
    return [path];
  }
  const all = await readdir(path);
  const names = all.filter(isManifestName).sort();
  const hcl = all.find((name) => name.endsWith('.tf'));
  // Terraform would read both as one configuration, and here half of it would never be applied.
  if (hcl !== undefined && names.every((name) => name.endsWith('.tf.json')))
    throw new Error(`holds ${hcl}, which ${notHcl}`);
  if (names.length > 0) return names.map((name) => join(path, name));
  const stacks = all.includes('stacks') ? await stacksBelow(join(path, 'stacks')) : [];
  if (stacks.length === 0)
    throw new Error('holds no *.yaml, *.yml or *.tf.json file; gantry export writes manifests of what a server has');
  return stacks;
}

/** Overlays of environments and files of packages are not manifests by themselves. */
const notBelow = new Set(['overlays', 'node_modules', 'cdktf.out']);

async function filesBelow(path: string): Promise<readonly string[]> {
  if (path === '-' || !(await stat(inFence(path))).isDirectory()) return filesOf(path);
  const entries = (await readdir(path, { withFileTypes: true })).sort((a, b) => compareText(a.name, b.name));
  const found: string[] = [];
  for (const entry of entries) {
    const isBelow = entry.isDirectory() && !entry.name.startsWith('.') && !notBelow.has(entry.name);
    if (isBelow) found.push(...(await filesBelow(join(path, entry.name))));
    else if (!entry.isDirectory() && isManifestName(entry.name)) found.push(join(path, entry.name));
  }
  return found;
}

/** The output of `cdktf synth`: one directory for each stack. */
async function stacksBelow(path: string): Promise<readonly string[]> {
  const names = (await readdir(path, { withFileTypes: true })).filter((entry) => entry.isDirectory());
  const files = names.map((entry) => join(path, entry.name, 'cdk.tf.json')).sort();
  const found = await Promise.all(
    files.map((file) =>
      stat(file).then(
        () => true,
        () => false,
      ),
    ),
  );
  return files.filter((_, index) => found[index]);
}

async function readSource(path: string, stdin: string | undefined, signal?: AbortSignal): Promise<SourceText> {
  if (path === '-') return { file: '<stdin>', folder: '.', text: stdin ?? (await readStdin(signal)) };
  const { size } = await stat(inFence(path));
  if (size > limits.fileBytes) throw new Error(`has ${size} bytes; a manifest may have ${limits.fileBytes}`);
  const bytes = await readFile(path, signal === undefined ? {} : { signal });
  return { file: path, folder: dirname(path), text: decode(bytes) };
}

export async function readStdin(signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    signal?.throwIfAborted();
    const bytes = Buffer.from(chunk as Buffer);
    size += bytes.length;
    if (size > limits.fileBytes) throw new Error(`has more than ${limits.fileBytes} bytes`);
    chunks.push(bytes);
  }
  return decode(Buffer.concat(chunks));
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`is not UTF-8 text (see line ${lineOfOtherBytes(bytes)}): save it in this encoding`);
  }
}

function lineOfOtherBytes(bytes: Uint8Array): number {
  for (let line = 1, start = 0; ; line += 1) {
    const end = bytes.indexOf(0x0a, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) return line;
    start = end + 1;
  }
}

async function unreadable(path: string, error: NodeJS.ErrnoException): Promise<Diagnostic> {
  const file = path === '-' ? '<stdin>' : path;
  const reason = /^[a-z][a-z0-9+.-]*:\/\//i.test(path)
    ? 'is a URL: gantry reads manifests from files only, so that you can review what it applies; download it first'
    : error.code === 'ENOENT'
      ? await missing(path)
      : error.code === 'EACCES'
        ? 'may not be read by this user: change its permissions, or run as a user who may read it'
        : error.code === 'ENOTDIR'
          ? 'does not exist: a part of its path is a file'
          : error.syscall === undefined
            ? error.message
            : `cannot be read (${error.message})`;
  return { severity: 'error', code: 'unreadable', path: '', message: `${file} ${reason}`, file, line: 1, column: 1 };
}

async function missing(path: string): Promise<string> {
  const target = await readlink(path).catch(() => undefined);
  return target === undefined
    ? `does not exist${await neighbour(path)}`
    : `is a link to ${target}, which does not exist`;
}

/** A hint with a similar name in the folder of a missing path. */
export async function neighbour(path: string): Promise<string> {
  try {
    return hint(basename(path), await readdir(dirname(path)));
  } catch {
    return '';
  }
}
