// A hostile repository: the rules of its tenant refuse every attempt, as a document and as a step.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { SetConfig } from '../../../../reconciler/controller/config/config.ts';
import { loadRevision } from '../../../../reconciler/controller/sets/load-revision.ts';
import { stepGuard } from '../../../../reconciler/controller/tenancy/step-guard.ts';
import type { Tenant } from '../../../../reconciler/controller/tenancy/tenant.ts';
import type { KindName } from '../../../../server/api/kinds.ts';
import type { JsonObject } from '../../../../reconciler/core/documents/document.ts';
import type { Step } from '../../../../reconciler/core/plan/plan.ts';
import { attempts, type Attempt } from '../../../support/hostile/tenant-attempts.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const tenant: Tenant = {
  name: 'shop',
  hosts: [{ by: 'name', name: 'h*' }],
  kinds: ['container', 'profile', 'image', 'image_alias', 'storage_volume', 'network'],
  names: ['shop-*'],
  projects: ['default'],
  uses: ['network/lxdbr0', 'storage_pool/default', 'image_alias/debian-*'],
  images: ['https://images.example', 'https://files.example/team'],
  keys: { deny: ['config.limits.cpu.priority', 'exec'] },
  restrictions: {},
};
const host = { name: 'h1', address: 'unix:///x', groups: [], labels: {}, vars: {} };

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-tenant-')));

async function problems({ text, lock }: Pick<Attempt, 'text' | 'lock'>, on: object = host) {
  writeFileSync(join(folder, 'a.yaml'), text);
  if (lock !== undefined) writeFileSync(join(folder, 'gantry.lock'), lock);
  const config = { name: 'web', path: '.', variables: {}, hosts: [], tenant } as unknown as SetConfig;
  const signal = new AbortController().signal;
  const loaded = await loadRevision(folder, config, [{ ...host, ...on }], signal);
  return loaded.problems;
}

test('the table has at least 200 distinct attempts', () => {
  expect(new Set(attempts.map(({ what }) => what)).size).toBe(attempts.length);
  expect(attempts.length).toBeGreaterThanOrEqual(200);
});

test.each(attempts)('$what is refused before a plan is made, by the rule $rule', async (attempt) => {
  const found = await problems(attempt);
  const bars = found.filter((text) => text.includes(`the tenant shop may not deploy`));
  if (attempt.rule === '') return expect(found).not.toEqual([]);
  expect({ found, rule: bars.some((text) => text.includes(`(${attempt.rule}): `)) }).toEqual({ found, rule: true });
  for (const text of bars) expect(text).toMatch(/^a\.yaml:\d+:\d+: the tenant shop may not deploy [a-z_]+\/\S+ \(/);
});

test('a host that the tenant may not use gets nothing', async () => {
  expect((await problems({ text: 'kind: profile\nname: shop-p\n' }, { name: 'x1' })).join()).toContain(
    '(hosts): x1 is not one of its hosts',
  );
});

test('a connection to another project gets nothing', async () => {
  expect((await problems({ text: 'kind: profile\nname: shop-p\n' }, { project: 'payroll' })).join()).toContain(
    '(projects): the project payroll is not one of default',
  );
});

const good = `kind: profile
name: shop-p
config: { limits.memory: 1GiB, user.note: x, security.privileged: false }
devices:
  root: { type: disk, path: /, pool: default }
  eth0: { type: nic, network: lxdbr0 }
  data: { type: disk, path: /data, pool: default, source: shop-v }
---
{ kind: storage_volume, pool: default, name: shop-v, config: { size: 1GiB } }
---
{ kind: network, name: shop-n, config: { ipv4.address: auto, ipv4.nat: true } }
---
kind: container
name: shop-c
profiles: [shop-p]
source: { type: image, alias: debian-12 }
files: [{ path: /etc/motd, content: hello }]
config: { volatile.eth0.hwaddr: "00:16:3e:11:22:33" }
manage: { wait: [{ tcp: 80 }] }
---
{ kind: image, name: shop-i, source: { type: url, url: "https://files.example/team/a.tar.gz" }, aliases: [shop-latest] }
---
{ kind: container, name: shop-d, profiles: [], source: { type: image, server: "https://images.example/", alias: debian/12 } }
`;

test('legitimate documents of a tenant are accepted', async () => {
  expect(await problems({ text: good })).toEqual([]);
});

describe('a step', () => {
  const guard = stepGuard(tenant, host, []);
  const base = { needs: [], timeoutMs: 1000 };
  const step = (kind: KindName, name: string, more: object): Step =>
    ({ ...base, id: 'x', address: `${kind}/${name}`, kind, name, ...more }) as unknown as Step;

  test('is refused for an object of others, whatever it does', () => {
    for (const more of [
      { action: 'delete' },
      { action: 'start', force: 'never', graceMs: 0 },
      { action: 'create', body: { source: { type: 'none' }, profiles: [] } },
      { action: 'files', writes: [], removes: ['/etc/passwd'] },
      { action: 'exec', exec: 'go', hidden: [] },
      { action: 'update', edits: [] },
    ])
      expect(() => guard(step('container', 'payroll-db', more))).toThrow(
        'the tenant shop may not do this (names): the name payroll-db fits none of shop-*',
      );
  });

  test('is refused in another project, and for another kind', () => {
    expect(() => guard(step('container', 'shop-c@pay', { action: 'delete', project: 'pay' }))).toThrow('(projects)');
    expect(() => guard(step('server_config', 'server', { action: 'update', edits: [] }))).toThrow('(kinds)');
  });

  test.each([
    ['creates', 'create'],
    ['rebuilds', 'rebuild'],
  ])('is refused when it %s a privileged container', (_what, action) => {
    const body = { profiles: [], config: { 'security.privileged': 'true' }, source: { type: 'none' } };
    expect(() => guard(step('container', 'shop-c', { action, body }))).toThrow('(restrictions)');
  });

  test('is refused if it writes a forbidden key, but not for values of others', () => {
    const update = step('container', 'shop-c', { action: 'update', edits: [] });
    const before: JsonObject = { profiles: ['admin'], config: { 'security.privileged': 'true' }, devices: {} };
    const after = (config: JsonObject): JsonObject => ({
      ...before,
      config: { ...(before['config'] as object), ...config },
    });
    guard(update, { before, after: after({ 'user.note': 'x' }) });
    expect(() => guard(update, { before, after: after({ 'raw.lxc': 'x' }) })).toThrow('config.raw.lxc');
    expect(() => guard(update, { before, after: { ...before, profiles: ['admin', 'root'] } })).toThrow('profile/root');
  });
});
