// Generators: lists, hosts and directories make sets; template mistakes are reported; sets leave only with prune.
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../../reconciler/controller/config/read-config.ts';
import { decideLeaving, type MadeSet } from '../../../../reconciler/controller/generators/decide-leaving.ts';
import { entriesOfHosts, expand } from '../../../../reconciler/controller/generators/expand.ts';
import { findDirectories } from '../../../../reconciler/controller/generators/find-directories.ts';
import { GeneratedSets, type Completed } from '../../../../reconciler/controller/generators/generated-sets.ts';
import { GeneratorWork, type GeneratorWorkDeps } from '../../../../reconciler/controller/generators/generator-work.ts';
import type { ManagedSet } from '../../../../reconciler/controller/sets/managed-set.ts';
import type { Host } from '../../../../reconciler/manifest/hosts-file.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const generator = (set: Record<string, unknown>, max?: number) => ({
  name: 'shops',
  set,
  ...(max === undefined ? {} : { max }),
});
const template = {
  name: 'shop-$shop',
  source: 'shop',
  path: 'shops/${shop}',
  variables: { MEMORY: '${memory:-64MiB}' },
};

describe('a template', () => {
  test('makes a set of each entry, with defaults for empty variables', () => {
    const { sets, problems } = expand(generator(template), [{ shop: 'berlin', memory: '1GiB' }, { shop: 'bonn' }]);
    expect(problems).toEqual([]);
    expect(sets.map(({ set }) => set)).toEqual([
      { name: 'shop-berlin', source: 'shop', path: 'shops/berlin', variables: { MEMORY: '1GiB' } },
      { name: 'shop-bonn', source: 'shop', path: 'shops/bonn', variables: { MEMORY: '64MiB' } },
    ]);
  });

  test('reports an entry without a value if the template has no default', () => {
    const { sets, problems } = expand(generator({ ...template, environment: '$memory' }), [
      { shop: 'berlin', memory: '1GiB' },
      { shop: 'bonn' },
    ]);
    expect(sets).toHaveLength(1);
    expect(problems).toEqual([{ path: 'set.environment', message: 'the variable memory has no value (of shop=bonn)' }]);
  });

  test('reports an unknown variable with the nearest one', () => {
    const { sets, problems } = expand(generator({ ...template, path: '$shopp' }), [{ shop: 'bonn', memory: '1' }]);
    expect(sets).toEqual([]);
    expect(problems[0]?.message).toBe(
      'there is no variable shopp (did you mean shop?): it has shop, memory (of shop=bonn, memory=1)',
    );
  });

  test('is checked like an entry of sets, with the path of each problem', () => {
    const { problems } = expand(generator({ ...template, name: 'Shop $shop', depends: [] }), [
      { shop: 'bonn', memory: '1' },
    ]);
    expect(problems.map(({ path }) => path).sort()).toEqual(['set.depends', 'set.name']);
  });

  test('beyond the cap makes no set at all', () => {
    const many = ['a', 'b', 'c'].map((shop) => ({ shop, memory: '1' }));
    const { sets, problems } = expand(generator(template, 2), many);
    expect(sets).toEqual([]);
    expect(problems[0]?.message).toContain('would make 3 sets, and max is 2');
  });
});

test('hosts give their names and labels as variables', () => {
  const hosts = [
    { name: 'h1', labels: { role: 'web', 'example.org/rack': 'r1' }, groups: [] },
    { name: 'h2', labels: {}, groups: [] },
  ];
  expect(entriesOfHosts([{ by: 'name', name: 'h1' }], hosts)).toEqual([
    { host: 'h1', label_role: 'web', label_example_org_rack: 'r1' },
  ]);
});

test('directories match stars and are excluded by exclude; links and hidden ones are ignored', async () => {
  const folder = tempFolder('gantry-directories-');
  for (const path of ['apps/a', 'apps/b/deep', 'apps/old', 'apps/.git', 'other/a'])
    await mkdir(join(folder, path), { recursive: true });
  await symlink('/etc', join(folder, 'apps/etc'));
  await writeFile(join(folder, 'apps/file'), '');
  const found = (include: readonly string[], exclude?: readonly string[]) =>
    findDirectories(folder, { include: [...include], ...(exclude === undefined ? {} : { exclude: [...exclude] }) });
  expect(await found(['apps/*'], ['apps/old'])).toEqual([
    { path: 'apps/a', name: 'a' },
    { path: 'apps/b', name: 'b' },
  ]);
  expect(await found(['*/a', 'apps/a', './apps/b/*'])).toEqual([
    { path: 'apps/a', name: 'a' },
    { path: 'apps/b/deep', name: 'deep' },
    { path: 'other/a', name: 'a' },
  ]);
  expect(await found(['../*', 'apps/b/*'], ['apps/b'])).toEqual([]);
});

const made = (name: string, more: Partial<MadeSet> = {}): MadeSet => ({
  generator: 'shops',
  entry: {},
  set: { name, source: 'shop' },
  ...more,
});

describe('sets that a generator no longer makes', () => {
  test('leave nothing behind only with prune', () => {
    const before = [made('a'), made('b')];
    expect(decideLeaving({ name: 'shops' }, before, new Set(['a']))).toEqual({ leaving: [], kept: [] });
    expect(decideLeaving({ name: 'shops', prune: {} }, before, new Set(['a'])).leaving).toEqual([
      made('b', { isLeaving: true }),
    ]);
  });

  test('stay if too many would leave at once; those that already leave continue', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => made(name));
    const going = made('i', { isLeaving: true });
    const { leaving, kept, problem } = decideLeaving({ name: 'shops', prune: {} }, [...before, going], new Set(['a']));
    expect(leaving).toEqual([going]);
    expect(kept).toHaveLength(7);
    expect(problem).toContain('no longer makes 7 of its 8 sets (b, c, d, e, f, ...), and at most 4 may go at once');
    expect(decideLeaving({ name: 'shops', prune: { max: '100%' } }, before, new Set()).leaving).toHaveLength(8);
  });
});

test('a set that was forgotten while a configuration was read does not come back with it', async () => {
  const folder = tempFolder('gantry-generators-');
  const generated = new GeneratedSets(folder);
  const leaving = made('a', { isLeaving: true });
  await generated.keep({ a: made('a'), b: made('b') });
  await generated.keep({ a: leaving, b: made('b') });
  await generated.forget('a');
  await generated.keep({ a: leaving, b: made('b', { entry: { shop: 'b' } }) });
  const stored = JSON.parse(await readFile(join(folder, 'generators.json'), 'utf8')) as { readonly made: object };
  expect(stored.made).toEqual({ b: made('b', { entry: { shop: 'b' } }) });
});

test('a set that came back while its end was stored can leave again', async () => {
  const forgotten: string[] = [];
  const work = new GeneratorWork({
    generated: { forget: async (name: string) => void forgotten.push(name) },
    isInCharge: () => true,
    onFound: () => {},
    hub: { log: () => {} },
  } as unknown as GeneratorWorkDeps);
  const leavingSet = (): ManagedSet => ({ config: { name: 'a' }, isGone: true }) as unknown as ManagedSet;
  const first = leavingSet();
  work.setChanged(first);
  work.setChanged(first);
  work.setChanged(leavingSet());
  expect(forgotten).toEqual(['a', 'a']);
});

const host = (name: string, labels = {}): Host => ({ name, address: `unix:///${name}`, groups: [], labels, vars: {} });

async function completed(text: string, hosts: readonly Host[] = [host('h1')]): Promise<Completed> {
  const folder = tempFolder('gantry-generators-');
  await writeFile(join(folder, 'gantry.yaml'), `hosts: { file: hosts.yaml }\n${text}`);
  const { config, diagnostics } = await readConfig(join(folder, 'gantry.yaml'));
  if (config === undefined) throw new Error(diagnostics.map(({ message }) => message).join('; '));
  return new GeneratedSets(folder).complete(config, hosts);
}
const sources = 'sources: [{ name: shop, directory: { path: manifests } }]\n';

describe('a configuration with generators', () => {
  test('has the sets of the file and of each list and host, with their tenants', async () => {
    const { config, findings } = await completed(
      `${sources}tenants:
  - { name: shops, sources: [{ name: shop, path: shops }], hosts: [h1], kinds: [profile], names: ['*'] }
  - { name: ops, sources: [{ name: shop, path: base }], trusted: true }
sets: [{ name: base, source: shop, path: base }]
generators:
  - name: shops
    list: [{ shop: bonn, size: 2 }]
    set: { name: shop-$shop, source: shop, path: shops/$shop, dependsOn: [base], keepRevisions: $size }
  - name: agents
    hosts: role=web
    set: { name: agent-$host, source: shop, path: base, hosts: $host }
`,
      [host('h1', { role: 'web' }), host('h2')],
    );
    expect(findings).toEqual([]);
    expect(config.sets.map(({ name, generator, tenant }) => [name, generator, tenant?.name])).toEqual([
      ['base', undefined, undefined],
      ['shop-bonn', 'shops', 'shops'],
      ['agent-h1', 'agents', undefined],
    ]);
    expect(config.sets[1]?.keepRevisions).toBe(2);
  });

  test('refuses two sets of one name, a set outside of every tenant, and unknown sources and sets', async () => {
    const about = async (generators: string, more = ''): Promise<readonly string[]> =>
      (
        await completed(`${sources}${more}sets: [{ name: base, source: shop, path: base }]\ngenerators:\n${generators}`)
      ).findings.map(({ path, message }) => `${path}: ${message}`);
    expect(await about('  - { name: g, list: [{ a: x }, { a: x }], set: { name: $a, source: shop } }\n')).toEqual([
      'generators.0.set.name: the name x is used twice: a set of the generator g has it',
    ]);
    expect(await about('  - { name: g, list: [{ a: base }], set: { name: $a, source: shop } }\n')).toEqual([
      'generators.0.set.name: the name base is used twice: a set of the file has it',
    ]);
    expect(await about('  - { name: g, list: [{ a: x }], set: { name: $a, source: shp } }\n')).toEqual([
      'generators.0.set.source: there is no source shp (did you mean shop?)',
    ]);
    expect(
      await about('  - { name: g, list: [{ a: x }], set: { name: $a, source: shop, dependsOn: [bas] } }\n'),
    ).toEqual(['generators.0.set.dependsOn: x cannot wait for another set: there is no set bas (did you mean base?)']);
    const tenants = 'tenants: [{ name: t, sources: [{ name: shop, path: base }], trusted: true }]\n';
    const [outside] = await about(
      '  - { name: g, list: [{ a: x }], set: { name: $a, source: shop, path: base/../x } }\n',
      tenants,
    );
    expect(outside).toContain('has no tenant');
  });

  test('refuses a generator of two kinds, of none, of an unknown source, and a file without sets', async () => {
    await expect(completed(sources)).rejects.toThrow('sets is empty: name a set, or a generator of sets');
    const one = (text: string): Promise<Completed> =>
      completed(`${sources}generators: [{ name: g, ${text}, set: {} }]\n`);
    await expect(one('max: 3')).rejects.toThrow(
      'g must have exactly one of list, hosts, directories, pullRequests; it has 0',
    );
    await expect(one('list: [], hosts: h1')).rejects.toThrow('it has 2');
    await expect(one('directories: { source: shp, include: [a] }')).rejects.toThrow(
      'names no source: there is no shp (did you mean shop?)',
    );
  });
});
