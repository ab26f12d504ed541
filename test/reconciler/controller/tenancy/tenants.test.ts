// Tenants of gantry.yaml: every set has exactly one, and meaningless rules are reported with their line.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../../../reconciler/controller/config/read-config.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

async function read(tenants: string, set = '') {
  const file = join(tempFolder('gantry-tenants-'), 'gantry.yaml');
  await writeFile(
    file,
    `hosts: { file: hosts.yaml }
sources:
  - { name: repo, directory: { path: manifests } }
sets:
  - { name: web, source: repo, path: shop/web${set} }
tenants:
${tenants}`,
  );
  const { config, diagnostics } = await readConfig(file);
  return { tenant: config?.sets[0]?.tenant, problems: diagnostics.map(({ line, message }) => `${line}: ${message}`) };
}
const certificate = ', certificate: { cert: a.crt, key: a.key }';
const rules = 'hosts: [h1], kinds: [profile], names: [shop-*]';
const shop = (more = ''): string => `  - { name: shop, sources: [{ name: repo, path: shop }], ${rules}${more} }\n`;

test('a set of a path below that of a tenant belongs to it', async () => {
  expect(await read(shop())).toMatchObject({ tenant: { name: 'shop', projects: ['default'] }, problems: [] });
});

test('the files of the certificate of a tenant are beside gantry.yaml', async () => {
  const { tenant, problems } = await read(shop(`, projects: [shop]${certificate}`));
  expect(problems).toEqual([]);
  expect(tenant?.certificate?.key).toMatch(/^\/.*gantry-tenants-[^/]+\/a\.key$/);
});

test('sets of a trusted tenant have no rules', async () => {
  expect(await read('  - { name: ops, sources: [{ name: repo }], trusted: true }\n')).toEqual({
    tenant: undefined,
    problems: [],
  });
});

test.each([
  [
    'a set without a tenant',
    shop().replace('path: shop', 'path: sho'),
    '5: sets.0 has no tenant: none of shop may deploy repo shop/web',
  ],
  [
    'a set of two tenants',
    `${shop()}${shop().replace('name: shop', 'name: two')}`,
    '5: sets.0 has several tenants: shop, two',
  ],
  ['an unknown source', shop().replace('name: repo', 'name: rope'), '7: there is no source rope'],
  [
    'a source that verifies nothing',
    shop().replace('path: shop', 'path: shop, signed: true'),
    '7: tenants.0.sources.0.signed the source repo verifies no signatures',
  ],
  [
    'a kind that decides about the host',
    shop().replace('[profile]', '[server_config]'),
    '7: tenants.0.kinds.0 must be',
  ],
  ['a use without a kind', shop(', uses: ["*"]'), '7: tenants.0.uses.0 must be KIND/NAME, is "*"'],
  [
    'a restriction that documents cannot break',
    shop(', restrictions: { restricted.backups: allow }'),
    '7: tenants.0.restrictions.restricted.backups means nothing here',
  ],
  [
    'a value that no restriction has',
    shop(', restrictions: { restricted.devices.gpu: maybe }'),
    '7: tenants.0.restrictions.restricted.devices.gpu',
  ],
  [
    'a certificate for several projects',
    shop(`, projects: [shop, shop2]${certificate}`),
    '7: tenants.0.certificate is for one project',
  ],
  ['a certificate for a pattern', shop(`, projects: [shop-*]${certificate}`), '7: tenants.0.certificate is for one'],
  [
    'a set with a project that the certificate of its tenant does not reach',
    shop(`, projects: [shop]${certificate}`),
    '5: sets.0.project cannot be other: the certificate of the tenant shop reaches shop alone',
    ', project: other',
  ],
  ['a tenant without names', shop().replace(', names: [shop-*]', ''), '7: tenants.0.names is required'],
  ['a trusted tenant with rules', shop(', trusted: true'), '7: tenants.0 is trusted and has hosts, kinds, names'],
])('%s is refused at its line', async (_what, tenants, message, set = '') => {
  const { problems } = await read(tenants, set);
  expect(
    problems.some((one) => one.includes(message.slice(3)) && one.startsWith(message.slice(0, 2))) ? message : problems,
  ).toBe(message);
});
