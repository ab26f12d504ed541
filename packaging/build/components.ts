// The libraries that are inside the built product: what the bundlers took in, with version, license and its text.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Component {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly licenseText: string;
}

interface Metafile {
  readonly inputs: Readonly<Record<string, object>>;
}

/** Vite says nothing about what it takes in; the page imports these and no others (test/architecture.test.ts). */
const ofPage = ['preact', '@preact/signals', '@preact/signals-core', '@xterm/xterm', '@xterm/addon-fit'];
/** Installed beside the bundle. */
const installed = ['koffi', 'typebox'];

/** `node_modules/a/node_modules/@b/c/d.js` -> `node_modules/a/node_modules/@b/c`. */
export const packageFolder = (input: string): string | undefined =>
  /^(?:\.\.\/)*(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];

/** In order of name. `metafiles`: of esbuild. */
export function components(repository: string, metafiles: readonly string[]): readonly Component[] {
  const inputs = metafiles.flatMap((file) => Object.keys((JSON.parse(readFileSync(file, 'utf8')) as Metafile).inputs));
  const folders = new Set([
    ...inputs.map(packageFolder).filter((folder) => folder !== undefined),
    ...[...ofPage, ...installed].map((name) => `node_modules/${name}`),
  ]);
  return [...folders]
    .map((folder) => componentOf(join(repository, folder)))
    .toSorted((one, other) => (`${one.name}@${one.version}` < `${other.name}@${other.version}` ? -1 : 1));
}

function componentOf(folder: string): Component {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Component;
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const path = file === undefined ? undefined : join(folder, file);
  return {
    name,
    version,
    license,
    licenseText: path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : '',
  };
}

/** For people: each library with its terms. */
export const notices = (parts: readonly Component[]): string =>
  parts
    .map(({ name, version, license, licenseText }) => {
      const title = `${name} ${version} (${license})`;
      return `${title}\n${'='.repeat(title.length)}\n\n${licenseText.trim() || `No text comes with it; its license is ${license}.`}\n`;
    })
    .join('\n\n');
