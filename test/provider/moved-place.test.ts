// A `moved` block from another provider: the object is looked up where its state says, and no plan creates a second one or destroys it.
import { describe, expect, test } from 'vitest';
import type { Link, Scope } from '../../provider/connection/link.ts';
import { withoutOwnProject } from '../../provider/connection/moved-place.ts';
import { scopedResource } from '../../provider/connection/scope.ts';
import { applyChange } from '../../provider/framework/apply.ts';
import { text } from '../../provider/framework/attribute.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { isMoved, markMove } from '../../provider/framework/move-mark.ts';
import type { ResourceDeps } from '../../provider/framework/operation.ts';
import { planResource } from '../../provider/framework/plan-resource.ts';
import type { AnyProvider } from '../../provider/framework/provider.ts';
import { readResource } from '../../provider/framework/read-resource.ts';
import type { ValueMap } from '../../provider/framework/value.ts';

/** A provider block with the project `team`. */
const projectOf = ({ project }: Scope): string => project ?? 'team';
const linkTo = (project: string, placeOf = projectOf): Link =>
  ({
    project,
    client: { host: 'unix:///daemon' },
    server: { environment: {} },
    reach: {
      remotes: [],
      placeOf,
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
      importing: { doc: '', example: '', parse: () => ({}) },
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
const plan = (prior: ValueMap, config: ValueMap, moves = true) =>
  planResource(
    { resource: world(['default', 'team']), client: linkTo('team'), explain },
    { config: state(config), prior: state({ ...prior, seen: 'x' }), isImported: false, isMoved: moves },
  );

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
    const { diagnostics, replace } = await plan({ project: 'default' }, {}, false);
    expect([diagnostics, replace]).toEqual([[], [[{ attribute: 'project' }]]]);
  });
});

test('The state names no project default where it is that of the provider block', () => {
  const place = { remote: null, project: 'default' };
  expect(
    withoutOwnProject(
      place,
      linkTo('default', ({ project }) => project ?? 'default'),
    ),
  ).toEqual({ project: null });
  expect(withoutOwnProject(place, linkTo('team'))).toEqual({});
  expect(withoutOwnProject({ ...place, project: 'team' }, linkTo('team'))).toEqual({});
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
