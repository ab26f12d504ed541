// The committed bindings match the schemas, those for CDKTF derive from them, mistakes of the generators are corrected, and apps of
// every kind can use the package. test/bindings tests the constructs themselves.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { adjustGenerated } from '../../provider/bindings/adjust.ts';
import { filesForCdktf } from '../../provider/bindings/for-cdktf.ts';
import {
  bindingsFolder,
  generateBindings,
  generatorFolder,
  runGenerator,
  schemasOf,
  sealOfTree,
} from '../../provider/bindings/generate.ts';
import { readTree } from '../../provider/bindings/read-tree.ts';
import { gantryProvider } from '../../provider/gantry.ts';
import { renderDocs } from '../../provider/packaging/docs.ts';
import { brokenSeals, hashOf, sealOf, type Seal } from '../../provider/bindings/seal.ts';
import { installBindings, type BindingsPackage } from '../support/terraform/bindings-package.ts';
import { repository, runProcess } from '../support/cli/programs.ts';

const folder = bindingsFolder(repository);
const generatorsMissing = existsSync(join(generatorFolder(repository), 'node_modules'))
  ? undefined
  : `the generators are not installed: npm ci --ignore-scripts --prefix provider/bindings/generator`;
if (generatorsMissing !== undefined)
  console.log(`skipped: generating the bindings again, because ${generatorsMissing}`);

const cdktn = readTree(join(folder, 'cdktn'));
const cdktf = filesForCdktf(cdktn);

test('The committed bindings are sealed for the present schemas and generators (npm run generate:bindings)', () => {
  const seal = JSON.parse(readFileSync(join(folder, 'seal.json'), 'utf8')) as Seal;
  expect(brokenSeals(seal, sealOfTree(repository))).toEqual([]);
});

test('The bindings for CDKTF do not refer to cdktn, and lack constructs that its library does not support', () => {
  expect([...cdktn.keys()].filter((path) => !cdktf.has(path)).sort()).toEqual([
    'generated/ephemeral-gantry-container-exec/index.ts',
    'generated/ephemeral-gantry-container-file/index.ts',
    'generated/provider-functions/index.ts',
  ]);
  expect([...cdktf.values()].join('')).not.toMatch(/cdktn|markWriteOnlyAttribute|GantryProviderFunctions/i);
  expect(readTree(join(folder, 'cdktf'))).toEqual(cdktf);
});

test('Every construct that the documentation names is in the bindings', () => {
  for (const [page, text] of renderDocs(gantryProvider({ env: {}, log() {} }), () => '')) {
    if (/^(functions|list-resources|actions)\//.test(page)) continue;
    const [, namespace, name, flavour] = /`(\w+)\.(\w+)`, from `gantry\/(cdktf|cdktn)`/.exec(text) ?? [];
    expect(flavour, page).toBe(page.startsWith('ephemeral-resources/') ? 'cdktn' : 'cdktf');
    const files = flavour === 'cdktn' ? cdktn : cdktf;
    const index = files.get('generated/index.ts') ?? '';
    const [, path] = new RegExp(`export \\* as ${namespace} from '\\./([\\w-]+)(?:/index)?'`).exec(index) ?? [];
    expect(files.get(`generated/${path}/index.ts`), page).toMatch(new RegExp(`^export class ${name} extends`, 'm'));
  }
});

test.skipIf(generatorsMissing !== undefined)(
  'The output of the generators of both flavours equals the bindings byte for byte, including those derived for CDKTF',
  () => {
    for (const [flavour, files] of [
      ['cdktn', cdktn],
      ['cdktf', cdktf],
    ] as const) {
      const generated = [...files].filter(([path]) => path.startsWith('generated/'));
      const expected = generateBindings(repository, flavour);
      expect(expected.size).toBeGreaterThan(25);
      expect(new Map(generated.map(([path, text]) => [path.slice('generated/'.length), text]))).toEqual(expected);
    }
  },
);

describe('a seal', () => {
  const files = new Map([
    ['a.ts', 'a'],
    ['b.ts', 'b'],
  ]);
  const seal = sealOf({ schema: '{}', generators: '1' }, files);

  test('A seal holds while nothing changes', () => {
    expect(brokenSeals(seal, sealOf({ schema: '{}', generators: '1' }, new Map([...files].reverse())))).toEqual([]);
    expect(seal.files['a.ts']).toBe(hashOf('a'));
  });

  test('A seal is broken by other schemas, other generators, and files that are changed, added or missing', () => {
    const changed = new Map([
      ['a.ts', 'A'],
      ['c.ts', 'c'],
    ]);
    expect(brokenSeals(seal, sealOf({ schema: '{"x":1}', generators: '2' }, changed))).toEqual([
      'the schemas of the provider or its version have changed',
      'the versions of the generators have changed',
      'a.ts differs from the generated file',
      'b.ts differs from the generated file',
      'c.ts differs from the generated file',
    ]);
  });
});

describe('output of generators', () => {
  const map = (body: string): string => `// x
import * as cdktf from 'cdktf';
export class NicsMap extends cdktf.ComplexMap {
  public get(key: string): NicsReference {
    ${body}
  }
}
`;
  const good = map('return new NicsReference(this.terraformResource, this.terraformAttribute, key);');

  test('Adjusted output has quoted keys, and neither pages nor the lazy index', () => {
    const written = new Map([
      ['providers/svc/index.ts', '// x\n'],
      ['providers/svc/lazy-index.ts', '// x\n'],
      ['providers/svc/nics/README.md', '# x\n'],
      ['providers/svc/nics/index.ts', good],
    ]);
    const adjusted = adjustGenerated(written, 'svc');
    expect([...adjusted.keys()]).toEqual(['index.ts', 'nics/index.ts']);
    expect(adjusted.get('nics/index.ts')).toContain('this.terraformAttribute, mapKey(key));');
    expect(adjusted.get('nics/index.ts')).toContain("// x\nimport { mapKey } from '../../maps';\nimport * as cdktf");
  });

  test('Adjusted output names a construct like its resource, also where another resource has a nested type of that name', () => {
    const written = (text: string) =>
      new Map([
        ['providers/svc/index.ts', ''],
        ['providers/svc/box-run/index.ts', text],
      ]);
    const made =
      'export interface BoxRunAConfig {}\nexport class BoxRunA extends X {}\nfunction boxRunAToX(ABoxRunA) {}\n';
    expect(adjustGenerated(written(made), 'svc').get('box-run/index.ts')).toBe(
      'export interface BoxRunConfig {}\nexport class BoxRun extends X {}\nfunction boxRunToX(ABoxRunA) {}\n',
    );
    expect(() => adjustGenerated(written(`${made}type BoxRun = 1;`), 'svc')).toThrow('both BoxRun and BoxRunA');
  });

  test('Generated output of an unexpected form is refused', () => {
    const other = map('return new NicsReference(this, key);');
    const adjust = (files: Record<string, string>) => () => adjustGenerated(new Map(Object.entries(files)), 'svc');
    expect(adjust({ 'providers/svc/index.ts': '', 'providers/svc/nics/index.ts': other })).toThrow(
      'nics/index.ts has 1 maps, but 0 of them',
    );
    expect(adjust({ 'providers/other/index.ts': '' })).toThrow('which is not below providers/svc/');
    expect(adjust({ 'providers/svc/nics/index.ts': good })).toThrow('the generator wrote no index.ts');
  });
});

describe('the package', () => {
  let installed: BindingsPackage;
  beforeAll(async () => {
    installed = await installBindings();
  });

  const app = (path: string, text: string): string => {
    const file = join(installed.root, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const body = (flavour: string): string => `
const app = new App();
const stack = new GantryStack(app, 'one');
new profile.Profile(stack, 'p', { name: '${flavour}', devices: { root: rootDisk(stack.pool('fast')) } });
const { config, devices } = stack.profile('one', {});
stack.profile('two', { config, devices: Token.asAny(devices), limits: { memory: '1GiB' } });
stack.network('n', { config, ipv4: 'none' });
process.stdout.write(Testing.synth(stack));
`;

  test('The package serves apps that are modules and apps that require, also with references to whole maps', async () => {
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
    for (const [flavour, file, text] of [
      [
        'cdktf',
        'app.mjs',
        "import { App, Testing, Token } from 'cdktf';\nimport { GantryStack, profile, rootDisk } from 'gantry/cdktf';\n",
      ],
      [
        'cdktn',
        'app.cjs',
        "const { App, Testing, Token } = require('cdktn');\nconst { GantryStack, profile, rootDisk } = require('gantry/cdktn');\n",
      ],
    ] as const) {
      const program = app(`${flavour}/${file}`, text + body(flavour));
      const ran = await runProcess([process.execPath, program], { cwd: installed.root });
      expect(ran.stderr).toBe('');
      const { resource, terraform } = JSON.parse(ran.stdout) as Record<string, Record<string, Record<string, unknown>>>;
      expect(resource?.['gantry_profile']?.['p']).toMatchObject({ name: flavour });
      const config = (key: string, value: string): string =>
        `\${merge({"${key}" = "${value}"}, gantry_profile.profile-one.config)}`;
      expect(resource?.['gantry_profile']?.['profile-two']).toMatchObject({
        config: config('limits.memory', '1GiB'),
        devices: '${gantry_profile.profile-one.devices}',
      });
      expect(resource?.['gantry_network']?.['network-n']).toMatchObject({ config: config('ipv4.address', 'none') });
      // Not the exact version: output that is kept would refuse every update of the provider.
      const later = `~> ${version.split('.').slice(0, 2).join('.')}`;
      expect(terraform?.['required_providers']).toEqual({ gantry: { source: 'gantry/gantry', version: later } });
    }
  });

  test.skipIf(generatorsMissing !== undefined).each(['cdktf', 'cdktn'] as const)(
    'The output of the stock generator of %s compiles without adjustments',
    async (flavour) => {
      const stock = runGenerator(repository, flavour, schemasOf(repository));
      // Only the index that loads by require needs types of Node.
      const paths = [...stock]
        .filter(([path]) => path.endsWith('.ts'))
        .map(([path, text]) => app(`stock-${flavour}/${path}`, text));
      expect(paths.length).toBeGreaterThan(25);
      const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--types', 'node'];
      expect(await installed.compile(...flags, ...paths)).toMatchObject({ stdout: '', code: 0 });
    },
  );

  test('The package has types for strict apps, which refuse unknown attributes', async () => {
    const text = (options: string): string => `import { App } from 'cdktf';
import { GantryStack } from 'gantry/cdktf';
const stack = new GantryStack(new App(), 'one');
export const address: string = stack.container('web', ${options}).ipv4Address;
`;
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', 'false', '--types', 'node'];
    const ran = await installed.compile(
      ...flags,
      app('typed/good.mts', text("{ image: 'debian/12', limits: { cpu: 2 } }")),
      app('typed/unknown.mts', text("{ immage: 'debian/12' }")),
      app('typed/wrong.mts', text('{ limits: { cpu: true } }')),
    );
    expect(ran.code).not.toBe(0);
    expect(ran.stdout.split('\n').filter((line) => /^\S/.test(line))).toEqual([
      expect.stringMatching(/^typed\/unknown\.mts.*'immage' does not exist/),
      expect.stringMatching(/^typed\/wrong\.mts.*Type 'true' is not assignable/),
    ]);
  });
});
