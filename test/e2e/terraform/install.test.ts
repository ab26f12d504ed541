// Installation of the provider from the sources or the npm package: `terraform-provider-gantry install`, mirrors in a CLI
// configuration, and packaging while a daemon runs from dist/.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bundleProvider } from '../../../provider/packaging/bundle.ts';
import { install } from '../../../provider/packaging/install.ts';
import { installationBlock, launcherName, platformOf } from '../../../provider/packaging/mirror.ts';
import { packageFiles, writeRelease } from '../../../provider/packaging/release.ts';
import { version as ownVersion } from '../../../server/api/version.ts';
import { buildPrograms, repository, type Programs } from '../../support/cli/programs.ts';
import { terraformMissing } from '../../support/terraform/terraform.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = terraformMissing('installations of the provider');
const version = '0.0.9';
let npmPackage: Programs;
const place = tempFolder('gtf-install-');
let program = '';

beforeAll(async () => {
  npmPackage = buildPrograms();
  program = join(npmPackage.root, 'dist/bin/terraform-provider-gantry.js');
  const programs = await bundleProvider(repository);
  const files = packageFiles({ version, programs, license: Buffer.from('l') });
  writeRelease(files, join(npmPackage.root, 'dist/provider-package'));
});

function folder(name: string, files: Readonly<Record<string, string>> = {}): string {
  const path = join(place, name);
  mkdirSync(path);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

const uses = (source: string): string =>
  `terraform {\n  required_providers {\n    it = { source = "${source}" }\n  }\n}\n`;

function run(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) {
  const [file = '', ...args] = argv;
  const own = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1', HOME: place, ...env };
  const ran = spawnSync(file, args, { cwd, encoding: 'utf8', env: own });
  return { code: ran.status, output: `${ran.stdout}${ran.stderr}` };
}

describe.skipIf(missing !== undefined)('the provider from the npm package', () => {
  test('terraform init finds the installed provider without any CLI configuration', () => {
    const home = folder('home');
    const work = folder('own-place', { 'main.tf': uses('gantry/gantry') });
    // No request may go to a registry.
    const env = { HOME: home, HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect(run(['terraform', 'init', '-no-color'], work, env).code).toBe(1);
    const installed = run([process.execPath, program, 'install'], work, env);
    expect(installed.output).toContain(`${home}/.terraform.d/plugins`);
    expect(installed.code).toBe(0);
    // A second time, as after an update with the same version.
    expect(run([process.execPath, program, 'install'], work, env).code).toBe(0);
    expect(run(['terraform', 'init', '-no-color'], work, env)).toMatchObject({
      code: 0,
      output: expect.stringContaining(`Installed gantry/gantry v${version}`),
    });
    expect(run(['terraform', 'validate', '-no-color'], work, env).code).toBe(0);
    expect(readdirSync(join(home, '.terraform.d/plugins')).toSorted()).toEqual([
      'registry.opentofu.org',
      'registry.terraform.io',
    ]);
  });

  test('--version names the version of the package, with and without the launcher', () => {
    for (const word of ['--version', '-version', 'version']) {
      const asked = run([process.execPath, program, word], place);
      expect(asked).toEqual({ code: 0, output: `terraform-provider-gantry ${ownVersion}\n` });
    }
    const launcher = join(npmPackage.root, 'dist/provider-package', launcherName(version));
    expect(run([launcher, '--version'], place).output).toBe(`terraform-provider-gantry ${ownVersion}\n`);
  });

  test('The printed block finds the provider in another directory, and other providers still come from their registry', () => {
    const work = folder('other-place', { 'main.tf': uses('gantry/gantry') });
    const directory = join(place, 'plug ins');
    const installed = run([process.execPath, program, 'install', '--plugin-dir', directory], work);
    expect(installed.output).toContain(installationBlock(directory));
    const rc = join(place, 'cli.tfrc');
    writeFileSync(rc, /^provider_installation \{$[\s\S]*?^\}$/m.exec(installed.output)?.[0] ?? '');
    const env = { TF_CLI_CONFIG_FILE: rc, HTTPS_PROXY: 'http://127.0.0.1:1' };
    expect(run(['terraform', 'init', '-no-color'], work, env).code).toBe(0);
    const other = folder('other-provider', { 'main.tf': uses('hashicorp/null') });
    const ran = run(['terraform', 'init', '-no-color'], other, env);
    expect(ran.code).toBe(1);
    // Terraform asked the registry, which does not answer; a mirror alone would have reported a missing provider.
    expect(ran.output).toContain('127.0.0.1:1');
  });

  test('install names wrong arguments, a missing package and an unsupported platform', () => {
    expect(run([process.execPath, program, 'install', '--to', 'x'], place)).toMatchObject({
      code: 2,
      output: expect.stringMatching(/--to[\s\S]*--plugin-dir DIR/),
    });
    expect(run([process.execPath, program, 'install', '--help'], place).code).toBe(0);
    const deps = { args: [], home: join(place, 'nobody'), os: 'linux', arch: 'x64' };
    const empty = install({ ...deps, packages: [place] });
    expect(empty).toMatchObject({ code: 1, stderr: expect.stringContaining(`none of ${place} holds the provider`) });
    const packages = [join(npmPackage.root, 'dist/provider-package')];
    const nowhere = install({ ...deps, packages, args: ['--plugin-dir', '/proc/no-such-folder'] });
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot make the folder /proc/no-such') });
    const windows = install({ ...deps, packages, os: 'win32' });
    expect(windows).toMatchObject({ code: 1, stderr: expect.stringContaining('does not run on win32 x64') });
    expect(existsSync(deps.home)).toBe(false);
    expect(platformOf('darwin', 'arm64')).toBe('darwin_arm64');
  });
});

describe('npm run package:provider', () => {
  test('npm run package:provider leaves dist/ alone, where a daemon may run, and replaces no directory with files of others', () => {
    const dist = join(repository, 'dist');
    mkdirSync(dist, { recursive: true });
    const before = statSync(dist).ino;
    const packed = join(place, 'packed');
    const pack = () => run(['npm', 'run', '--silent', 'package:provider', '--', packed], repository);
    expect(pack()).toMatchObject({ code: 0, output: expect.stringContaining(packed) });
    expect(pack().code).toBe(0);
    expect(statSync(dist).ino).toBe(before);
    expect(readFileSync(join(repository, 'package.json'), 'utf8')).not.toMatch(
      /"package:provider": ".*(run build|rm -rf)/,
    );
    expect(readdirSync(packed)).toContain('mirror');
    const home = folder('precious', { 'thesis.txt': 'x' });
    const refused = run(['npm', 'run', '--silent', 'package:provider', '--', home], repository);
    expect(refused.output).toContain(`${home} holds other files`);
    expect(refused.code).not.toBe(0);
    expect(readdirSync(home)).toEqual(['thesis.txt']);
  });
});
