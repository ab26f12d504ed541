// Terraform JSON on the command line: planned and applied on a daemon, beside manifests, with variables from all sources, and refused
// with file, line, construct and remedy.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { cli, type CliRun, type CliSetting } from '../../../support/cli/io.ts';
import { fileDaemon } from '../../../support/daemons/file-daemon.ts';
import { packImage } from '../../../support/cli/daemon-with-manifests.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const daemon = await fileDaemon({ runtime: 'sim' });

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-tf-')));

const run = (argv: readonly string[], setting?: CliSetting): Promise<CliRun> =>
  cli([...argv, '--host', `unix://${daemon.socketPath}`], setting);
function write(path: string, value: object): void {
  mkdirSync(join(folder, path, '..'), { recursive: true });
  writeFileSync(join(folder, path), JSON.stringify(value, null, 2));
}

const stack = (prefix: string): object => ({
  variable: { memory: { type: 'string', default: '64MiB' }, count: { type: 'number', default: 2 } },
  resource: {
    gantry_storage_pool: { pool: { name: `${prefix}pool`, driver: 'dir' } },
    gantry_image: { base: { source: { type: 'file', file: 'image.tar.gz' } } },
    gantry_image_alias: { base: { name: `${prefix}/base`, target: '${gantry_image.base.fingerprint}' } },
    gantry_profile: {
      small: {
        '//': { metadata: { path: 'stack/small', uniqueId: 'small' } },
        name: `${prefix}small`,
        config: { 'limits.memory': '${var.memory}' },
        devices: { root: { type: 'disk', path: '/', pool: '${gantry_storage_pool.pool.name}' } },
      },
    },
    gantry_container: {
      web: {
        count: '${var.count}',
        name: `${prefix}web\${count.index}`,
        profiles: ['${gantry_profile.small.name}'],
        source: { type: 'image', fingerprint: '${gantry_image.base.fingerprint}' },
      },
    },
  },
});

describe('Terraform JSON', () => {
  test('Terraform JSON of a synthesized app is applied, has an empty plan, changes and is destroyed', async () => {
    write('cdktf.out/stacks/web/cdk.tf.json', stack('tfa'));
    packImage(join(folder, 'cdktf.out/stacks/web'), 'image.tar.gz', 'tfa');
    const out = join(folder, 'cdktf.out');
    const applied = await run(['apply', '-y', '-f', out]);
    expect(applied.stdout + applied.stderr).toContain('Apply complete! 6 added, 0 changed, 0 destroyed.');
    expect(await run(['plan', '-f', out, '-detailed-exitcode'])).toMatchObject({ code: 0 });
    const containers = (await daemon.get('/1.0/containers?recursion=1')) as { name: string; status: string }[];
    expect(containers.filter(({ name }) => name.startsWith('tfa'))).toMatchObject([
      { name: 'tfaweb0', status: 'Running' },
      { name: 'tfaweb1', status: 'Running' },
    ]);
    const changed = await run(['apply', '-y', '-f', out, '-var', 'memory=96MiB']);
    expect(changed.stdout).toContain('0 added, 1 changed, 0 destroyed');
    expect(await daemon.get('/1.0/profiles/tfasmall')).toMatchObject({ config: { 'limits.memory': '96MiB' } });
    const destroyed = await run(['destroy', '-y', '-f', out]);
    expect(destroyed.stdout).toContain('Destroy complete! 0 added, 0 changed, 6 destroyed.');
  });

  test('works beside manifests; variables come from the environment, files and flags in rising precedence', async () => {
    write('main.tf.json', stack('tfb'));
    packImage(folder, 'image.tar.gz', 'tfb');
    writeFileSync(
      join(folder, 'more.yaml'),
      'kind: vars\nvars: { NOTE: hello }\n---\nkind: profile\nname: tfbmore\nconfig: { user.note: $NOTE }\n',
    );
    const planned = async (argv: readonly string[], env: Readonly<Record<string, string>>): Promise<string> =>
      (await run(['plan', '-f', folder, ...argv], { env })).stdout;
    const env = { TF_VAR_memory: '65MiB', TF_VAR_count: '1' };
    expect(await planned([], env)).toContain('config.limits.memory = "65MiB"');
    expect(await planned([], env)).toContain('Plan: 6 to add');
    write('terraform.tfvars.json', { memory: '66MiB', elsewhere: 1 });
    expect(await planned([], env)).toContain('config.limits.memory = "66MiB"');
    write('z.auto.tfvars.json', { memory: '67MiB' });
    expect(await planned([], env)).toContain('config.limits.memory = "67MiB"');
    expect(await planned(['-var', 'memory=68MiB', '-var', 'NOTE=x'], env)).toContain('config.limits.memory = "68MiB"');
    expect(await planned(['-var', 'NOTE=x'], env)).toContain('config.user.note = "x"');
  });

  test('is refused with place, construct and remedy, and nothing is touched', async () => {
    const value = stack('tfc') as { resource: Record<string, Record<string, Record<string, unknown>>> };
    value.resource['null_resource'] = { n: {} };
    const small = value.resource['gantry_profile']?.['small'] ?? {};
    small['description'] = '${uuid()}';
    write('main.tf.json', value);
    packImage(folder, 'image.tar.gz', 'tfc');
    const refused = await run(['apply', '-y', '-f', folder]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the function uuid is not evaluated');
    expect(refused.stderr).toContain('(made by stack/small)');
    expect(refused.stderr).toMatch(/main\.tf\.json:\d+:\d+/);
    expect(refused.stderr).toContain('null_resource.n is of another provider');
    expect(refused.stderr).toContain('apply them with Terraform, in a stack of their own');
    const names = ((await daemon.get('/1.0/profiles')) as string[]).filter((url) => url.includes('tfc'));
    expect(names).toEqual([]);
    const report = JSON.parse((await cli(['validate', '-json', '-f', folder])).stdout) as {
      diagnostics: { code: string; path: string }[];
    };
    expect(report.diagnostics.map(({ code, path }) => [code, path])).toEqual([
      ['E_FUNCTION', 'resource.gantry_profile.small.description'],
      ['E_FOREIGN_RESOURCE', 'resource.null_resource.n'],
    ]);
  });

  test('a wrong value in a resource is reported at its place in the file', async () => {
    write('main.tf.json', { resource: { lxd_profile: { p: { name: 'tfd', config: { 'limits.memory': '1 gig' } } } } });
    const refused = await cli(['validate', '-f', folder]);
    expect(refused.stderr).toContain('limits.memory');
    expect(refused.stderr).toMatch(/main\.tf\.json:7:/);
  });

  test('HCL is refused with a remedy, alone, beside JSON and by name, and never skipped silently', async () => {
    writeFileSync(join(folder, 'main.tf'), 'resource "gantry_profile" "p" { name = "p" }\n');
    const told = async (path: string): Promise<string> => (await cli(['validate', '-f', path])).stderr;
    expect(await told(folder)).toContain('holds main.tf, which is HCL and not read: write it as Terraform JSON');
    expect(await told(join(folder, 'main.tf'))).toContain('main.tf is HCL and not read');
    write('more.tf.json', { locals: {} });
    expect(await told(folder)).toContain('holds main.tf');
    // Beside manifests the variable may be for those.
    writeFileSync(join(folder, 'more.yaml'), 'kind: profile\nname: p\n');
    expect(await cli(['validate', '-f', folder])).toMatchObject({ code: 0 });
  });

  test('numbers and booleans of JSON keep their types, and a wrong value inside a container is reported at its place', async () => {
    write('main.tf.json', {
      locals: { n: 2 },
      resource: {
        gantry_container: {
          c: { count: 1, name: 'tfe${local.n == 2}', files: { '/etc/motd': { content: '', mode: '9' } } },
        },
        gantry_container_file: { f: { container: 'tfetrue', path: '/x/../y', content: '' } },
      },
    });
    const { stderr } = await cli(['validate', '-f', folder]);
    expect(stderr).toMatch(/mode must be octal text[^]*main\.tf\.json:13:/);
    expect(stderr).toMatch(/must be an absolute path[^]*main\.tf\.json:21:/);
  });

  test('tfvars that are not an object are reported', async () => {
    write('main.tf.json', { variable: { x: { default: '' } } });
    writeFileSync(join(folder, 'terraform.tfvars.json'), '[]');
    expect((await cli(['validate', '-f', folder])).stderr).toContain(
      'terraform.tfvars.json cannot be read: it must hold an object',
    );
  });
});
