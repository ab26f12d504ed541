// Bundles the plugin into one CommonJS file, as packages carry it.
import { build } from 'esbuild';

/** Before anything else is loaded: an old Node must not answer with a syntax error. */
const versionCheck =
  "if(Number(process.versions.node.split('.')[0])<20){process.stdout.write('terraform-provider-gantry needs Node.js 20.19 or newer; this is '+process.versions.node+'\\n');process.exit(1)}";

export async function bundleProvider(repository: string): Promise<Buffer> {
  const result = await build({
    absWorkingDir: repository,
    entryPoints: ['provider/main.ts'],
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    legalComments: 'none',
    banner: { js: versionCheck },
    write: false,
    logLevel: 'warning',
  });
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error('the bundler has made no file');
  return Buffer.from(file.contents);
}
