// The npm package as users install it: the files that `npm pack` takes from the last build, and its working programs and modules.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeAll, describe, expect, test } from 'vitest';
import { reachable } from '../../packaging/build/reachable.ts';
import { repository, runProcess, type Ran } from '../support/cli/programs.ts';
import { tempFolder } from '../support/temp-folder.ts';

const isBuilt = existsSync(join(repository, 'dist/provider-package'));
if (!isBuilt) console.log('skipped: the npm package, since dist/ is not built: npm run build');

const dir = tempFolder('gtp-');
const installed = join(dir, 'app/node_modules/gantry');
let paths: readonly string[] = [];

function command(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: repository, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} has failed: ${stderr}`);
  return stdout;
}

const node = (...argv: readonly string[]): Promise<Ran> =>
  runProcess([process.execPath, ...argv], { cwd: join(dir, 'app') });

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
}

/** What `npm install --omit=dev` would install for this platform, by the lock file. */
function productionPackages(): readonly string[] {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: true; readonly devOptional?: true; readonly peer?: true }>>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev, devOptional, peer }]) => path !== '' && !dev && !devOptional && !peer)
    .map(([path]) => path.replace('node_modules/', ''))
    .filter((name) => existsSync(join(repository, 'node_modules', name)));
}

function megabytes(path: string): number {
  const bytes = command('du', '-sL', '--apparent-size', '--block-size=1', path).split('\t')[0];
  return Number(bytes) / 1024 / 1024;
}

test('Every dependency with an install script has an entry in allowScripts, so that npm has nothing to warn of', () => {
  const read = (name: string) => JSON.parse(readFileSync(join(repository, name), 'utf8')) as Record<string, object>;
  const locked = Object.entries(read('package-lock.json')['packages'] ?? {}) as [string, { hasInstallScript?: true }][];
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  const allowed = Object.keys(read('package.json')['allowScripts'] ?? {}).map((name) => `node_modules/${name}`);
  expect(scripted.filter((path) => !path.includes('fsevents'))).toEqual(allowed);
});

test('npm run prepare builds when a source is newer than the last build, and only then', () => {
  const checkout = join(dir, 'checkout');
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const name of [
    'server',
    'reconciler',
    'provider/bindings/cdktf',
    'packaging',
    'examples',
    'docs',
    'test',
    'dist',
  ])
    mkdirSync(join(checkout, name), { recursive: true });
  writeFileSync(join(checkout, 'server/source.ts'), '');
  for (const name of ['package-lock.json', 'tsconfig.json']) writeFileSync(join(checkout, name), '{}');
  // The bindings for CDKTF are written by the build itself.
  const build = 'touch dist/.built && sleep 0.01 && touch provider/bindings/cdktf/index.ts && echo has built';
  const scripts = { build, 'is:built': manifest.scripts['is:built'] };
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ name: 'gantry', scripts }));
  const prepare = () =>
    spawnSync('sh', ['-c', manifest.scripts['prepare'] ?? ''], { cwd: checkout, encoding: 'utf8' }).stdout;
  expect(prepare()).toContain('\nhas built');
  expect(prepare()).not.toContain('\nhas built');
  const later = new Date(Date.now() + 1000);
  // The quick start writes the image; the build compiles no tests.
  for (const name of ['examples/image.tar.gz', 'test/new.test.ts']) {
    writeFileSync(join(checkout, name), '');
    utimesSync(join(checkout, name), later, later);
  }
  expect(prepare()).not.toContain('\nhas built');
  utimesSync(join(checkout, 'server/source.ts'), later, later);
  expect(prepare()).toContain('\nhas built');
});

describe.skipIf(!isBuilt)('npm package', () => {
  beforeAll(() => {
    const packed = command('npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', dir);
    const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: readonly { path: string }[] }];
    paths = files.map(({ path }) => path);
    mkdirSync(installed, { recursive: true });
    command('tar', '-xzf', join(dir, filename), '-C', installed, '--strip-components=1');
    for (const name of [...productionPackages(), 'cdktf', 'cdktn', 'constructs']) {
      mkdirSync(dirname(join(dir, 'node_modules', name)), { recursive: true });
      symlinkSync(join(repository, 'node_modules', name), join(dir, 'node_modules', name));
    }
  });

  test('The package has the programs, the importable modules and the examples, and nothing else', () => {
    const folders = new Set(
      paths.map((path) => /^dist\/(?:server|provider)\/\w+|^dist\/[\w-]+|^[^/]+/.exec(path)?.[0]),
    );
    expect(folders).toEqual(
      new Set([
        'CHANGELOG.md',
        'LICENSE',
        'README.md',
        'dist/bin',
        'dist/lib',
        'dist/man',
        // SQLite for the processors and systems that Gantry runs on.
        'dist/prebuilds',
        'dist/provider-package',
        'dist/provider/bindings',
        'dist/types',
        'dist/web',
        'docs',
        'examples',
        // Units, and the system user and directories, for hosts.
        'packaging',
        // The reference of the provider.
        'provider',
        'package.json',
      ]),
    );
    expect(paths).toEqual(expect.arrayContaining(['dist/man/man1/gantry-apply.1', 'dist/man/man8/gantryd.8']));
    expect(paths.filter((path) => /\.test\.|^dist\/(?:test|provider\/bindings\/[^/]+\.js)/.test(path))).toEqual([]);
    expect(paths.filter((path) => /^dist\/types\/.*(?<!\.d\.ts)$/.test(path))).toEqual([]);
  });

  test('An installation with its dependencies takes less than 40 MB', () => {
    const parts = ['app/node_modules/gantry', ...productionPackages().map((name) => `node_modules/${name}`)];
    const sizes = parts.map((name) => megabytes(join(dir, name)));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(40);
  });

  test('Every module of the package is reached from a program, an export, the page or the installed provider', () => {
    const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Manifest;
    const entries = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((each) => [each.types, each.default]),
      'dist/provider-package/main.cjs',
    ].map((path) => normalize(path));
    const reached = reachable(entries, (path) =>
      paths.includes(path) ? readFileSync(join(installed, path), 'utf8') : undefined,
    );
    // Skips the page, whose scripts Vite names and writes.
    const modules = paths.filter((path) => /^dist\/(?!web\/).*\.[cm]?[jt]s$/.test(path));
    expect(modules.length).toBeGreaterThan(500);
    expect(modules.filter((path) => !reached.includes(path))).toEqual([]);
  });

  test('Every file that a module of the package imports is in the package', () => {
    const missing = paths
      .filter((path) => /^dist\/(?:types|provider\/bindings)\/.*\.(?:js|d\.ts)$/.test(path))
      .flatMap((path) =>
        [
          ...readFileSync(join(installed, path), 'utf8').matchAll(
            /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.[^'"]+)['"]/g,
          ),
        ]
          .map(([, specifier = '']) => normalize(join(dirname(path), specifier.replace(/\.ts$/, '.d.ts'))))
          .filter((target) => ![target, `${target}.js`, `${target}/index.js`].some((name) => paths.includes(name)))
          .map((target) => `${path} imports ${target}`),
      );
    expect(missing).toEqual([]);
  });

  test('An app can import each module of the package', async () => {
    const names = ['api', 'client', 'reconciler', 'cdktf', 'cdktn'];
    const file = join(dir, 'app/all.mjs');
    const counts = names.map((name) => `console.log(Object.keys(await import('gantry/${name}')).length);\n`);
    writeFileSync(file, counts.join(''));
    const { code, stdout, stderr } = await node(file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(
      stdout
        .trim()
        .split('\n')
        .filter((count) => Number(count) > 3),
    ).toHaveLength(names.length);
  });

  test('The daemon of the package opens its store with the SQLite of the package', async () => {
    const argv = [join(installed, 'dist/bin/gantryd.js'), '--state-dir', join(dir, 'state'), '--runtime', 'sim'];
    const daemon = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const [line] = (await once(createInterface({ input: daemon.stdout }), 'line')) as [string];
      expect(JSON.parse(line)).toMatchObject({ runtime: 'sim' });
    } finally {
      daemon.kill();
      await once(daemon, 'exit');
    }
  });

  test('The programs of the package start', async () => {
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
    for (const name of ['gantry', 'gantryd']) {
      const { code, stdout } = await node(join(installed, 'dist/bin', `${name}.js`), '--version');
      expect(code, name).toBe(0);
      expect(stdout, name).toContain(version);
    }
    const program = join(installed, 'dist/bin/terraform-provider-gantry.js');
    const { code, stdout } = await node(program, 'install', '--plugin-dir', join(dir, 'plugins'));
    expect(code).toBe(0);
    expect(stdout).toContain(join(dir, 'plugins'));
  });
});
