// An import, or a `moved` block from another provider: the object is looked up where its id or state says, and no plan creates a second one
// or destroys it.
import { describe, expect, test } from 'vitest';
import type { Link, Scope } from '../../provider/connection/link.ts';
import { scopedResource } from '../../provider/connection/scope.ts';
import { applyChange } from '../../provider/framework/apply.ts';
import { text } from '../../provider/framework/attribute.ts';
import { importByParts } from '../../provider/resources/shared/import-ids.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { isMoved, markMove } from '../../provider/framework/move-mark.ts';
import type { ResourceDeps } from '../../provider/framework/operation.ts';
import { planResource, type PlanInput } from '../../provider/framework/plan-resource.ts';
import type { AnyProvider } from '../../provider/framework/provider.ts';
import { readResource } from '../../provider/framework/read-resource.ts';
import type { ValueMap } from '../../provider/framework/value.ts';

/** A provider block with the project `team`. */
const projectOf = ({ project }: Scope): string => project ?? 'team';
const linkTo = (project: string): Link =>
  ({
    project,
    client: { host: 'unix:///daemon' },
    server: { environment: {} },
    reach: {
      remotes: [],
      placeOf: projectOf,
      isSamePlace: async (one: Scope, other: Scope) => projectOf(one) === projectOf(other),
      at: async (scope: Scope) => linkTo(projectOf(scope)),
    },
  }) as unknown as Link;

/** The projects that have a thing `a`. */
const world = (projects: readonly string[]) =>
  scopedResource(
    {
      typeName: 'toy_thing',
      doc: '',
      attributes: { name: text({ doc: '', required: true }), seen: text({ doc: '', computed: true }) },
      identity: ['name'],
      read: async (_state, { client }) =>
        projects.includes(client.project ?? '') ? { seen: client.project ?? '' } : null,
      create: async () => {},
      update: async () => {},
      delete: async () => {},
      importing: importByParts(['name'], ''),
    },
    { inProjects: true },
  );
const explain = (what: string, error: unknown) => [failure(what, String(error))];
const state = (more: ValueMap): ValueMap => ({
  name: 'a',
  seen: null,
  timeouts: null,
  remote: null,
  project: null,
  ...more,
});

const deps = (projects: readonly string[]): ResourceDeps<Link> => {
  const provider = {
    explain: (_what: string, error: unknown) => [failure(String(error), '')],
  } as unknown as AnyProvider<Link>;
  return { provider, resource: world(projects), client: linkTo('team'), stopping: new AbortController().signal };
};
const read = (projects: readonly string[], before: ValueMap, privateData = markMove()) =>
  readResource(deps(projects), before, privateData);
const plan = (
  prior: ValueMap,
  config: ValueMap,
  marks: Pick<PlanInput, 'isImported' | 'takenBy'> = { isImported: true, takenBy: 'moved' },
) =>
  planResource(
    { resource: world(['default', 'team']), client: linkTo('team'), explain },
    { config: state(config), prior: state({ ...prior, seen: 'x' }), ...marks },
  );
const settled = { isImported: false };
const imported = { isImported: true, takenBy: 'imported' } as const;

describe('an object of the project default, taken over under a provider block with another project', () => {
  test('The object is looked up in its own project', async () => {
    const found = await read(['default', 'team'], state({ project: 'default' }));
    expect(found.state).toEqual(state({ project: 'default', seen: 'default' }));
  });

  test('A block that leaves the project to the provider is refused with what to write, and nothing is replaced', async () => {
    const { diagnostics, replace } = await plan({ project: 'default' }, {});
    expect(replace).toEqual([]);
    expect(diagnostics).toMatchObject([
      { severity: 'error', summary: 'The moved toy_thing is in another project than its configuration says' },
    ]);
    expect(diagnostics[0]?.detail).toContain('write project = "default" in its block');
  });

  test('A block that names its project keeps it', async () => {
    const { diagnostics, replace, planned } = await plan({ project: 'default' }, { project: 'default' });
    expect([diagnostics, replace, planned]).toEqual([[], [], state({ project: 'default', seen: 'x' })]);
  });

  test('Another project replaces it after an update, as always', async () => {
    const { diagnostics, replace } = await plan({ project: 'default' }, {}, settled);
    expect([diagnostics, replace]).toEqual([[], [[{ attribute: 'project' }]]]);
  });
});

describe('an imported object', () => {
  const idOf = async (id: string): Promise<ValueMap> =>
    state(world([]).importing.parse(id, linkTo('team')) as ValueMap);

  test('An id with the project of the provider plans nothing, whether the configuration repeats the project or not', async () => {
    const prior = await idOf('team/a');
    for (const config of [{ project: 'team' }, {}]) {
      const { planned, replace, diagnostics } = await plan(prior, config, imported);
      expect([planned, replace, diagnostics]).toEqual([state({ project: 'team', seen: 'x' }), [], []]);
    }
  });

  test('An id that names two projects is refused', () =>
    expect(idOf('team/a,project=other')).rejects.toThrow('import id "team/a,project=other" is wrong'));

  test('A colon in a name is told from one after a remote, also in the id that an identity stands for', async () => {
    await expect(idOf('x:y')).rejects.toMatchObject({
      diagnostics: [
        { summary: 'The provider has no remote "x"', detail: expect.stringContaining('write x:y,remote=') },
      ],
    });
    const { importing } = world([]);
    for (const name of ['x:y', 'x,remote=y', 'x,project=y'])
      expect(await idOf(importing.id?.({ name }) ?? '')).toEqual(state({ name }));
    expect(importing.id?.({ name: 'x', project: 'team' })).toBe('x,project=team');
  });

  const elsewhere = 'The imported toy_thing is in another project than its configuration says';

  test('A configuration with another project is refused by the run of an import block, with what to write', async () => {
    const { replace, diagnostics } = await plan(await idOf('default/a'), {}, imported);
    expect(replace).toEqual([]);
    expect(diagnostics).toMatchObject([{ severity: 'error', summary: elsewhere }]);
    expect(diagnostics[0]?.detail).toContain('write project = "default" in its block');
  });

  test('It replaces the object in a later run, with a warning until the first update', async () => {
    const prior = await idOf('default/a');
    expect(await plan(prior, {}, { isImported: true })).toMatchObject({
      planned: { project: null },
      replace: [[{ attribute: 'project' }]],
      diagnostics: [{ severity: 'warning', summary: elsewhere }],
    });
    expect(await plan(prior, {}, settled)).toMatchObject({ replace: [[{ attribute: 'project' }]], diagnostics: [] });
  });
});

test('A moved object that is not where its state says is an error, and stays in the state', async () => {
  const before = state({});
  const { state: after, diagnostics } = await read(['default'], before);
  expect(after).toEqual(before);
  expect(diagnostics.map(({ summary }) => summary)).toEqual([
    expect.stringContaining('The moved toy_thing a was not found'),
  ]);
});

test('A moved object counts as moved through every refresh, and one that vanishes later leaves the state', async () => {
  const first = await read(['team'], state({}));
  expect(isMoved(first.privateData)).toBe(true);
  const second = await read(['team'], first.state ?? {}, first.privateData);
  expect(second.privateData).toEqual(first.privateData);
  expect((await read([], first.state ?? {}, first.privateData)).state).toBeNull();
});

test('The first update of a moved object ends its move', async () => {
  const { privateData } = await read(['team'], state({}));
  const [prior, planned] = [state({ seen: 'team' }), state({ seen: 'other' })];
  const applied = await applyChange(deps(['team']), { prior, planned, config: planned, privateData });
  expect(isMoved(applied.privateData)).toBe(false);
});
