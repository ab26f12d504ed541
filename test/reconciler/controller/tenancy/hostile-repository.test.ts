// Attacks of a hostile repository besides documents: names of directories and branches for generators, programs, Terraform JSON, links,
// controller files. See also hostile.test.ts (documents), fence.test.ts (paths), and the tests of archives and buckets.
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SetConfig } from '../../../../reconciler/controller/config/config.ts';
import { expand } from '../../../../reconciler/controller/generators/expand.ts';
import { findDirectories } from '../../../../reconciler/controller/generators/find-directories.ts';
import { loadRevision } from '../../../../reconciler/controller/sets/load-revision.ts';
import type { Tenant } from '../../../../reconciler/controller/tenancy/tenant.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-hostile-')));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

describe('names chosen by anyone who may push', () => {
  const hostile = [
    'a; touch x',
    'a && touch x',
    '$(touch x)',
    '`touch x`',
    'a|sh',
    'a\nsh',
    'a > x',
    '"; sh; "',
    "'; sh; '",
    '-rf',
    '--config=x',
    '*',
    'web*',
    '@all',
    'role=db',
    '!h1',
    'h1,h2',
    '"} or vector(0) or x{a="',
    'x.*"} or up{a=~".*',
    'a\\nb',
    '$HOSTS',
    '${HOSTS}',
    '%2e%2e',
    'a b',
    '\u202eh1',
    'ｈ1',
    '~root',
    '#x',
  ];
  const members: Readonly<Record<string, object>> = {
    hooks: { beforeSync: [{ name: 'x', container: 'c', command: ['sh', '-c', 'migrate $name'] }] },
    'hooks without a shell': { beforeSync: [{ name: 'x', container: 'c', command: ['migrate', '${name}'] }] },
    rollout: { checks: [{ name: 'x', url: 'http://p', query: 'errors{app="$name"}', max: 1 }] },
    hosts: ['$name'],
  };
  // Each name in one member, each member with one name: the check of a value does not know its member.
  const attempts = [
    ...hostile.map((name) => ['hosts', name] as const),
    ...Object.keys(members).map((member) => [member, 'a; touch x'] as const),
  ];

  test.each(attempts)('make no set whose %s take the name %j of a directory or of a branch', async (member, name) => {
    mkdirSync(join(folder, 'apps', name), { recursive: true });
    const entries = await findDirectories(folder, { include: ['apps/*'] });
    expect(entries.length).toBe(1);
    const key = member.split(' ')[0] ?? '';
    const set = { name: 'web', source: 'repo', path: '$path', [key]: members[member] };
    const directories = { source: 'repo', include: ['apps/*'] };
    const pullRequests = { source: 'repo', provider: 'github' as const, repository: 'a/b' };
    for (const made of [
      expand({ name: 'g', directories, set }, entries),
      expand({ name: 'g', pullRequests, set }, [{ number: '1', path: 'x', name }]),
    ]) {
      expect(made.sets).toEqual([]);
      expect(made.problems.map(({ message }) => message).join()).toContain(
        `set.${key} takes the variable name of the repository`,
      );
    }
  });

  test('are accepted if plain, and names written by an operator are not checked', () => {
    const set = { name: 'web', source: 'repo', hosts: ['$name'] };
    const directories = { source: 'repo', include: ['apps/*'] };
    expect(expand({ name: 'g', directories, set }, [{ name: 'web-1.example' }]).sets).toHaveLength(1);
    expect(expand({ name: 'g', list: [{ name: 'web' }], set }, [{ name: 'role=web' }]).sets).toHaveLength(1);
  });

  test('generators ignore links, hidden directories and the state of git', async () => {
    for (const path of ['apps/.hidden', '.git/apps', 'apps/good', 'other'])
      mkdirSync(join(folder, path), { recursive: true });
    symlinkSync('/etc', join(folder, 'apps/etc'));
    symlinkSync('../other', join(folder, 'apps/other'));
    expect(
      (await findDirectories(folder, { include: ['*/*', 'apps/../other', '../*'] })).map(({ path }) => path),
    ).toEqual(['apps/good']);
  });
});

const tenant: Tenant = {
  name: 'shop',
  hosts: [{ by: 'name', name: 'h1' }],
  kinds: ['container', 'profile'],
  names: ['shop-*'],
  projects: ['default'],
  uses: [],
  images: [],
  keys: { deny: ['exec'] },
  restrictions: {},
};

async function load(path = '.', names = ['h1']) {
  const config = { name: 'web', path, variables: {}, hosts: [], tenant } as unknown as SetConfig;
  const hosts = names.map((name) => ({ name, address: 'unix:///x', groups: [], labels: {}, vars: {} }));
  return loadRevision(folder, config, hosts, new AbortController().signal);
}

test.each(['a.ts', 'a.mts', 'a.js', 'a.mjs', 'a.cjs', 'stack.gantry.ts', 'gantry.config.ts', 'index.ts'])(
  'a program %s in a repository is not run',
  async (name) => {
    const mark = join(folder, '..', `ran-${name}`);
    write('a.yaml', 'kind: profile\nname: shop-p\n');
    const program = `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`;
    write(
      name,
      name.endsWith('js') && !name.endsWith('.mjs')
        ? program
        : `import fs from 'node:fs';\nfs.writeFileSync(${JSON.stringify(mark)}, '')\n`,
    );
    write('package.json', `{ "type": "commonjs", "scripts": { "preinstall": "touch ${mark}" } }`);
    await load().catch(() => undefined);
    await load(name).catch(() => undefined);
    expect(existsSync(mark)).toBe(false);
  },
);

const terraform = (type: string, values: object): string => JSON.stringify({ resource: { [type]: { x: values } } });
test.each([
  ['a profile of others', terraform('gantry_profile', { name: 'pay-p' })],
  ['a privileged profile', terraform('gantry_profile', { name: 'shop-p', config: { 'security.privileged': 'true' } })],
  ['a name that a function makes', terraform('gantry_profile', { name: '${join("-", ["pay", "p"])}' })],
  [
    'a name from a local',
    JSON.stringify({ locals: { n: 'pay-p' }, ...JSON.parse(terraform('gantry_profile', { name: '${local.n}' })) }),
  ],
  [
    'a name from a variable',
    JSON.stringify({
      variable: { n: { default: 'pay-p' } },
      ...JSON.parse(terraform('gantry_profile', { name: '${var.n}' })),
    }),
  ],
  [
    'a name of a second copy',
    terraform('gantry_profile', { count: 2, name: '${count.index == 1 ? "pay-p" : "shop-p"}' }),
  ],
  [
    'a name of each of a set',
    terraform('gantry_profile', { for_each: '${toset(["shop-p", "pay-p"])}', name: '${each.key}' }),
  ],
  ['a kind that decides about the host', terraform('gantry_project', { name: 'shop-x' })],
  ['the config of the server', terraform('gantry_server_config', { config: { 'user.x': 'y' } })],
])('Terraform JSON with %s is refused', async (_what, text) => {
  write('a.tf.json', text);
  const { problems } = await load();
  expect(problems).not.toEqual([]);
});

test.each([
  ['gantry.yaml', 'hosts: { file: hosts.yaml }\ntenants: [{ name: shop, sources: [{ name: repo }], trusted: true }]\n'],
  ['hosts.yaml', 'kind: hosts\nhosts: [{ name: h1, address: "unix:///other" }]\n'],
  ['a.yaml', 'kind: tenant\nname: shop\ntrusted: true\n'],
  ['a.yaml', 'kind: set\nname: web\nhooks: { beforeSync: [{ name: x, container: c, command: [sh] }] }\n'],
  ['a.yaml', 'kind: profile\nname: shop-p\nhooks: { beforeSync: [{ name: x, container: c, command: [sh] }] }\n'],
  ['a.yaml', 'kind: profile\nname: shop-p\nrollout: { checks: [] }\n'],
  ['a.yaml', 'kind: profile\nname: shop-p\nmanage: { owner: payroll }\n'],
  ['a.yaml', 'kind: profile\nname: shop-p\nfor: { hosts: ["*"] }\nproject: payroll\n'],
  ['a.yaml', 'kind: certificate\nname: me\ncertificate: x\n'],
])('a file %s cannot grant rights: %s', async (name, text) => {
  write(name, text);
  if (name !== 'a.yaml') write('a.yaml', 'kind: profile\nname: pay-p\n');
  const { problems, hosts } = await load();
  expect(problems).not.toEqual([]);
  expect([...hosts.values()].flatMap(({ loaded }) => loaded.documents).map(({ kind }) => kind)).not.toContain(
    'certificate',
  );
});

test('Terraform JSON that needs too much time or memory is evaluated for one host, in a thread, and refused', async () => {
  const often = (inner: string): string => `[for x in range(1000) : ${inner}]`;
  write(
    'a.tf.json',
    JSON.stringify({
      variable: { GANTRY_HOST_NAME: {} },
      output: { x: { value: `\${[var.GANTRY_HOST_NAME, ${often(often('format("%10000s", x)'))}]}` } },
    }),
  );
  let turns = 0;
  const clock = setInterval(() => void turns++, 10);
  const { hosts, problems } = await load('.', ['h1', 'h2', 'h3']);
  clearInterval(clock);
  expect(problems).toEqual([
    expect.stringMatching(
      /^a\.tf\.json:1:1: the evaluation (?:needs too much memory|takes longer than 20 s) .*\(on h1\)$/,
    ),
  ]);
  expect([...hosts.keys()]).toEqual(['h1']);
  expect(turns).toBeGreaterThan(5);
});
