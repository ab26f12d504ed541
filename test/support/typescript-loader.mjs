// Runs TypeScript files as they are: blanks stand for their types, so that lines and columns stay. Node itself does so from 22.18 on.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';

/** A hook of Node's module loader. */
export async function load(url, context, nextLoad) {
  const [file] = url.split('?', 1);
  if (!file.startsWith('file:') || !file.endsWith('.ts')) return nextLoad(url, context);
  const filename = fileURLToPath(file);
  const { code } = transformSync(await readFile(filename, 'utf8'), { mode: 'strip-only', filename });
  return { format: 'module', source: code, shortCircuit: true };
}
