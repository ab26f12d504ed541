// Bundles the plugin into CommonJS files for packages: the program, and separate files for code that only some processes of a plan
// need. The first process only returns the schema, which the package contains; one of three contacts a daemon.
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { gantryMethods } from '../serving.ts';
import { providerService } from '../wire/calls.ts';

/** Runs before anything else loads, so that an old Node does not fail with a syntax error. */
const versionCheck =
  "if(Number(process.versions.node.split('.')[0])<20){process.stdout.write('terraform-provider-gantry needs Node.js 20.19 or newer; this is '+process.versions.node+'\\n');process.exit(1)}";

/**
 * Libraries in separate files, reduced to the exports in use. All of undici would be three times as large, and its unused parts
 * touch globals that make Node load its own second undici, which costs 50 ms.
 */
const libraries: Readonly<Record<string, { readonly exports: readonly string[]; readonly source: string }>> = {
  undici: {
    exports: ['Pool'],
    source: `const Dispatcher = require('undici/lib/dispatcher/dispatcher.js');
Dispatcher.prototype.request = require('undici/lib/api/api-request.js');
exports.Pool = require('undici/lib/dispatcher/pool.js');`,
  },
  ws: { exports: ['WebSocket'], source: `exports.WebSocket = require('ws').WebSocket;` },
};

/** HTTP/2 and form bodies, which the plugin does not use. */
const unused = /[\\/]undici[\\/]lib[\\/](?:dispatcher[\\/]client-h2|web[\\/]fetch[\\/]body)\.js$/;

/** File name to content. `main.cjs` is the program. */
export type Programs = ReadonlyMap<string, Buffer>;

export async function bundleProvider(repository: string): Promise<Programs> {
  const main = await bundleOne(repository, {
    entryPoints: ['provider/main.ts'],
    banner: { js: versionCheck },
    // Compiles it to a require, because an import would start Node's ES module loader.
    supported: { 'dynamic-import': false },
    plugins: [servingPlugin],
  });
  const serving = await bundleOne(repository, { entryPoints: ['provider/serving.ts'], plugins: [apartPlugin] });
  const others = await Promise.all(
    Object.entries(libraries).map(async ([name, { source }]) => {
      const stdin = { contents: source, resolveDir: repository };
      return [`${name}.cjs`, await bundleOne(repository, { stdin, plugins: [unusedPlugin] })] as const;
    }),
  );
  return new Map([['main.cjs', main], ['provider.cjs', serving], ...others, ['schema.bin', await schema()]]);
}

async function schema(): Promise<Buffer> {
  const method = gantryMethods({ env: {}, log() {} }).get(`${providerService}GetProviderSchema`);
  if (method?.kind !== 'unary') throw new Error('the provider has no schema method');
  return Buffer.from(await method.call(new Uint8Array()));
}

const servingPlugin: Plugin = {
  name: 'serving',
  setup(bundler) {
    bundler.onResolve({ filter: /^\.\/serving\.ts$/ }, () => ({ path: './provider.cjs', external: true }));
  },
};

/**
 * The separate files export classes: the first `new` loads them. An import of any other export fails in the bundler.
 */
const apartPlugin: Plugin = {
  name: 'libraries',
  setup(bundler) {
    const names = Object.keys(libraries).join('|');
    bundler.onResolve({ filter: new RegExp(`^(?:${names})$`) }, ({ path }) => ({ path, namespace: 'libraries' }));
    bundler.onLoad({ filter: /./, namespace: 'libraries' }, ({ path }) => {
      const made = (name: string): string =>
        `export function ${name}(...given) { return new (require('./${path}.cjs').${name})(...given); }`;
      return { contents: libraries[path]?.exports.map(made).join('\n') ?? '' };
    });
    bundler.onResolve({ filter: /^\.\/\w+\.cjs$/, namespace: 'libraries' }, ({ path }) => ({ path, external: true }));
  },
};

const unusedPlugin: Plugin = {
  name: 'unused',
  setup(bundler) {
    bundler.onLoad({ filter: unused }, () => ({ contents: 'module.exports = {};' }));
  },
};

async function bundleOne(repository: string, options: BuildOptions): Promise<Buffer> {
  const result = await build({
    ...options,
    absWorkingDir: repository,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  });
  const [file] = result.outputFiles ?? [];
  if (file === undefined) throw new Error('the bundler wrote no file');
  return Buffer.from(file.contents);
}
