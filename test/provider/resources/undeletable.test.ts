// What the server would not delete: the plan of a deletion says so, and that of a replacement, before the apply has deleted anything.
import { expect, test } from 'vitest';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { gantryProvider } from '../../../provider/gantry.ts';

const { resources } = gantryProvider({ env: {}, log() {} });

async function planned(typeName: string, prior: ValueMap, config: ValueMap | null): Promise<readonly string[]> {
  const resource = resources.find((each) => each.typeName === typeName);
  if (resource === undefined) throw new Error(`there is no ${typeName}`);
  const all = Object.fromEntries(Object.keys(resource.attributes).map((name) => [name, null]));
  const deps = { resource, client: undefined, explain: (what: string) => [failure(what, '')] };
  const given = { prior: { ...all, ...prior }, config: config === null ? null : { ...all, ...config } };
  const { diagnostics } = await planResource(deps, { ...given, isImported: false });
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ summary }) => summary);
}

test('The project default is neither deleted nor replaced, so that force_destroy does not empty it', async () => {
  const prior = { name: 'default', force_destroy: true };
  for (const config of [null, { name: 'other', force_destroy: true }])
    expect(await planned('gantry_project', prior, config)).toEqual(['The project default cannot be deleted']);
  expect(await planned('gantry_project', { ...prior, name: 'team' }, null)).toEqual([]);
});

test('A protected container is neither deleted nor replaced', async () => {
  const prior = { name: 'web', architecture: 'x86_64', expanded_config: { 'security.protection.delete': 'true' } };
  for (const config of [null, { name: 'web', architecture: 'aarch64' }])
    expect(await planned('gantry_container', prior, config)).toEqual(['The container web is protected']);
  expect(await planned('gantry_container', prior, { name: 'web' })).toEqual([]);
});
