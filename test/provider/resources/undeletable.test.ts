// What the server would not delete or change: the plan says so before the apply has deleted anything, and a message what to do.
import { expect, test } from 'vitest';
import { explain } from '../../../provider/connection/explain-errors.ts';
import { planResource } from '../../../provider/framework/plan-resource.ts';
import { failure } from '../../../provider/framework/diagnostic.ts';
import type { ValueMap } from '../../../provider/framework/value.ts';
import { gantryProvider } from '../../../provider/gantry.ts';
import { ClientError } from '../../../server/client/client-error.ts';

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

test('A change of an object in use says how to make it, and not how to delete the object', () => {
  const inUse = new ClientError('inUse', 'The network n is in use by container c', { status: 400 });
  const detailOf = (what: string): string | undefined => explain(what, inUse)[0]?.detail;
  expect(detailOf('update gantry_network')).toMatch(/Remove it from its users in one apply, and change it in the next/);
  expect(detailOf('delete gantry_network')).toMatch(/does not have its user, end the use.*Terraform deletes it before/);
  expect(detailOf('delete gantry_project')).toContain('force_destroy = true');
});
