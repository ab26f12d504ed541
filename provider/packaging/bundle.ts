// Bundles the plugin into CommonJS files, as packages carry it: the program, and apart from it what only a process that talks to
// a daemon loads. Most processes of a plan never do, and parsing costs them a fifth of their time.
import { build, type BuildOptions } from 'esbuild';

/** Before anything else is loaded: an old Node must not answer with a syntax error. */
const versionCheck =
  "if(Number(process.versions.node.split('.')[0])<20){process.stdout.write('terraform-provider-gantry needs Node.js 20.19 or newer; this is '+process.versions.node+'\\n');process.exit(1)}";

const apart = ['undici', 'ws'] as const;

/** File name to content. `main.cjs` is the program. */
export type Programs = ReadonlyMap<string, Buffer>;

export async function bundleProvider(repository: string): Promise<Programs> {
  const main = await bundleOne(repository, {
    entryPoints: ['provider/main.ts'],
    banner: { js: versionCheck },
    plugins: [
      {
        name: 'apart',
        setup(bundler) {
          const filter = new RegExp(`^(?:${apart.join('|')})$`);
          bundler.onResolve({ filter }, ({ path }) => ({ path: `./${path}.cjs`, external: true }));
        },
      },
    ],
  });
  const others = await Promise.all(
    apart.map(async (name) => {
      const stdin = { contents: `module.exports = require('${name}')`, resolveDir: repository };
      return [`${name}.cjs`, await bundleOne(repository, { stdin })] as const;
    }),
  );
  return new Map([['main.cjs', main], ...others]);
}

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
  if (file === undefined) throw new Error('the bundler has made no file');
  return Buffer.from(file.contents);
}
