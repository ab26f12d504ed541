// Runs TypeScript files as they are: blanks stand for their types, so that lines and columns stay. Node itself does so from 22.18 on.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';

/** Where an import leads: our own ones name the file, for which Node would search and look for links. */
export function resolve(specifier, context, nextResolve) {
  if (!/^\.{1,2}\/.*\.ts$/.test(specifier) || !context.parentURL?.startsWith('file:'))
    return nextResolve(specifier, context);
  return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true };
}

/** What is in a module. */
export async function load(url, context, nextLoad) {
  const [file] = url.split('?', 1);
  if (!file.startsWith('file:') || !file.endsWith('.ts')) return nextLoad(url, context);
  const filename = fileURLToPath(file);
  const { code } = transformSync(readFileSync(filename, 'utf8'), { mode: 'strip-only', filename });
  return { format: 'module', source: code, shortCircuit: true };
}
