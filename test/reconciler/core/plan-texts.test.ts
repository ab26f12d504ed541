// The checker of plans, what people read of a plan, and exports.
import { describe, expect, test } from 'vitest';
import { Document, parse } from 'yaml';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import { exportWorld } from '../../../reconciler/core/adoption/export.ts';
import { defineStack } from '../../../reconciler/manifest/define-stack.ts';
import { seedText } from '../../../reconciler/manifest/documents/cloud-config.ts';
import { manifestText, quotedManifestText, yamlText } from '../../../reconciler/manifest/text/yaml-text.ts';
import { writeExport } from '../../../reconciler/manifest/write-export.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { planJson } from '../../../reconciler/core/render/plan-json.ts';
import type { Plan, Step } from '../../../reconciler/core/plan/plan.ts';
import { renderMarkdown } from '../../../reconciler/core/render/render-markdown.ts';
import { renderPlan } from '../../../reconciler/core/render/render-plan.ts';
import { expectGolden } from '../../support/golden.ts';
import {
  document,
  fingerprintOf,
  imageDocument,
  liveContainer,
  liveVolume,
  liveNetwork,
  liveProfile,
  world,
} from '../../support/fakes/worlds.ts';
import { root, eth0, source, stopped, host, plan, withContainers, pick } from '../../support/fakes/plan-host.ts';

test.each(['a\r\n \n\tb: "c"', `\\\n \n\t${'long '.repeat(20)}\r`, '\n\n a\n'])(
  'YAML gives the text %j back',
  (text) => {
    const document = new Document({ description: text });
    for (const written of [yamlText({ description: text }), manifestText(document), quotedManifestText(document)])
      expect(parse(written)).toEqual({ description: text });
    expect(parse(seedText('user.user-data', { description: text }))).toEqual({ description: text });
    const stack = defineStack((s) => s.profile('web', { description: text }));
    expect(parse(stack.toYaml())).toMatchObject({ description: text });
  },
);

describe('the checker', () => {
  const observed = withContainers(
    liveContainer('a', { devices: { eth0 }, config: { 'security.protection.delete': 'true' } }),
  );
  const good = plan([
    document('network', 'db0', { type: 'bridge' }),
    document('profile', 'web', { devices: { eth0: { ...eth0, parent: 'db0' } } }),
  ]);
  const messages = (broken: Plan, world: Observed = host): string =>
    checkPlan(broken, world)
      .map((one) => `${one.path} ${one.message}`)
      .join('\n');
  const remove = (kind: 'network' | 'container' | 'profile', name: string): Plan => {
    const step: Step = {
      id: `${kind}/${name}#delete`,
      action: 'delete',
      kind,
      name,
      address: `${kind}/${name}`,
      needs: [],
      timeoutMs: 1,
    };
    return { ...good, steps: [step], changes: [] };
  };

  test('it reports steps before their needs, unknown needs, duplicate ids and steps without a change', () => {
    const [first, second] = good.steps as [Step, Step];
    expect(messages({ ...good, steps: [second, first] })).toContain('comes before network/db0#create');
    expect(messages({ ...good, steps: [second] })).toContain('which the plan lacks');
    expect(messages({ ...good, steps: [first, first, second] })).toContain('two steps have this id');
    expect(messages({ ...good, changes: [] })).toContain('belongs to no change');
    expect(messages({ ...good, steps: [first, { ...second, needs: [] }] })).toContain(
      'may run before network/db0#create',
    );
  });

  test('it reports deletes of used, protected, permanent and missing objects, and creates of existing ones', () => {
    expect(messages(remove('network', 'web0'), observed)).toContain('deletes an object that container/a still uses');
    expect(messages(remove('container', 'a'), observed)).toContain('deletes a protected object');
    expect(messages(remove('profile', 'default'), observed)).toContain('deletes an object that cannot be deleted');
    expect(messages(remove('network', 'nowhere'), observed)).toContain('works on an object that does not exist');
    const there = { ...host, networks: world({ networks: [liveNetwork('web0'), liveNetwork('db0')] }).networks };
    expect(messages(good, there)).toContain('creates an object that exists already');
  });
});

describe('texts for people', () => {
  const profiles = [liveProfile('default', { devices: { root } }), liveProfile('web', { config: { 'user.a': '1' } })];
  const containers = [
    liveContainer('api', {
      profiles: ['web'],
      config: { 'limits.memory': '256MiB', 'environment.DB_PASSWORD': 'old-one', 'user.hand': '1' },
    }),
    liveContainer('db', { config: { 'volatile.eth0.hwaddr': '00:16:3e:01:02:03' } }),
    liveContainer('idle', stopped),
    liveContainer('web1', { profiles: ['web'] }),
  ];
  const observed = { ...host, ...pick(world({ profiles, containers })) };
  const documents = [
    document('container', 'api', {
      config: { 'limits.memory': '1GiB', 'environment.DB_PASSWORD': 'new-one', 'user.gone': null },
    }),
    document('container', 'db', { architecture: 'aarch64', source }, { manage: { disruption: 'recreate' } }),
    document('container', 'idle'),
    document('container', 'fresh', { source, config: { 'user.user-data': '#cloud-config\npassword: x\n' } }),
    document('profile', 'web', { config: { 'security.privileged': 'true', 'user.a': null } }),
    document('network', 'web0', { config: { 'ipv4.nat': 'no' } }),
    imageDocument('app', fingerprintOf('app'), { aliases: ['app'], properties: { os: 'app' } }),
  ];

  test('a plan', () => {
    expectGolden('plan/changes.txt', renderPlan(plan(documents, observed), { color: false }));
  });
  test('a plan in colour', () => {
    expectGolden('plan/changes-color.txt', renderPlan(plan(documents.slice(0, 2), observed), { color: true }));
  });
  test('a plan as JSON', () => {
    expectGolden('plan/changes.json', `${JSON.stringify(planJson(plan(documents, observed)), null, 2)}\n`);
  });
  test('a plan names its set and the place of its manifests, as text, Markdown and JSON', () => {
    const place = 'laptop:/home/ada/web';
    const owner = { set: 'shop', hash: (text: string) => text, place: { here: place, others: 'refuse' as const } };
    const changed = planChanges({ documents, observed, owner });
    const same = planChanges({ documents: [], observed, owner });
    for (const one of [changed, same, planDestroy({ documents, observed, owner })]) {
      expect(renderPlan(one, { color: false })).toContain(`\nFor the set shop, declared at ${place}.\n`);
      expect(planJson(one)).toMatchObject({ owner: 'shop', place });
    }
    expect(renderMarkdown(changed)).toContain(`\n\nFor the set shop, declared at ${place}.\n`);
  });
  test('a plan that is refused', () => {
    const refused = documents.map((one) => ({ ...one, manage: { ...one.manage, disruption: 'none' as const } }));
    expectGolden('plan/refused.txt', renderPlan(plan(refused, observed), { color: false }));
  });
  test('no change, and a destroy', () => {
    expectGolden('plan/no-change.txt', renderPlan(plan([document('profile', 'web')], observed), { color: false }));
    expectGolden('plan/destroy.txt', renderPlan(planDestroy({ documents, observed }), { color: false }));
  });
});

test('an export leaves out and names volumes that no document can recreate', () => {
  const volume = (name: string, content_type: string) =>
    [`fast/${name}`, { object: { ...liveVolume(`fast/${name}`), content_type } }] as const;
  const observed = {
    ...host,
    volumes: new Map([volume('plain', 'filesystem'), volume('disk', 'block'), volume('plain/snap0', '')]),
  };
  const objects = exportWorld(observed).filter(({ kind }) => kind === 'storage_volume');
  const { refused, parts } = writeExport(objects, false);
  expect(refused).toEqual([
    'storage_volume/fast/disk has the content type block: a document would create a file system',
    'storage_volume/fast/plain/snap0 is a snapshot of a volume, which no document can recreate',
  ]);
  expect(parts.filter(({ text }) => text.startsWith('---')).map(({ exported }) => exported.address)).toEqual([
    'storage_volume/fast/plain',
  ]);
});
