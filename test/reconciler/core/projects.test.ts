// Plans across projects: the meaning of names, the reach of edits, the order of steps.
import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../reconciler/core/decide/check-plan.ts';
import type { Document, JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { Observed } from '../../../reconciler/core/documents/observed.ts';
import type { Plan } from '../../../reconciler/core/plan/plan.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import { planDestroy } from '../../../reconciler/core/decide/plan-destroy.ts';
import { project } from '../../../reconciler/core/kinds/project.ts';
import { scopedName } from '../../../reconciler/core/text/scoped-name.ts';
import {
  document,
  fingerprintOf,
  liveAlias,
  liveContainer,
  liveImage,
  livePool,
  liveProfile,
  liveProject,
  world,
} from '../../support/fakes/worlds.ts';

const root = { type: 'disk', path: '/', pool: 'fast' };
const base = fingerprintOf('base');
const shared = { 'features.images': 'false', 'features.profiles': 'false', 'features.storage.volumes': 'true' };

/** An object of the project `team`. */
const inTeam = (kind: Document['kind'], name: string, values: JsonObject = {}): Document =>
  document(kind, scopedName(name, 'team'), values, { project: 'team' });

/** The result of `observe` for a project, with its objects under names with that project. */
function withTeam(config: Record<string, string> | undefined, parts: Partial<Observed> = {}): Observed {
  const used = [
    '/1.0/profiles/default?project=team',
    ...[...(parts.containers ?? [])].map(() => '/1.0/instances/c1?project=team'),
  ];
  const own = world({
    profiles: [liveProfile('default'), liveProfile('web', { config: { 'limits.cpu': '1' } })],
    images: [liveImage(base)],
    aliases: [liveAlias('base', base)],
    pools: [livePool('fast')],
    projects: [
      liveProject('default'),
      ...(config === undefined ? [] : [liveProject('team', { config, used_by: used })]),
    ],
  });
  return {
    ...own,
    containers: new Map([...own.containers, ...(parts.containers ?? [])]),
    profiles: new Map([...own.profiles, ...(parts.profiles ?? [])]),
  };
}
const teamsContainer = (profiles: string[]): Pick<Observed, 'containers'> => ({
  containers: new Map([['c1@team', { object: { ...liveContainer('c1', { profiles }), project: 'team' } }]]),
});
const teamsProfile = (name: string): Pick<Observed, 'profiles'> => ({
  profiles: new Map([
    [`${name}@team`, { object: { ...liveProfile(name, { config: { 'limits.cpu': '1' } }), project: 'team' } }],
  ]),
});

function plan(documents: readonly Document[], observed: Observed): Plan {
  const made = planChanges({ documents, observed });
  expect(checkPlan(made, observed)).toEqual([]);
  return made;
}
const steps = (made: Plan): readonly string[] => made.steps.map(({ id }) => id);
const codes = (made: Plan): readonly string[] =>
  made.diagnostics.map(({ code, address }) => `${code} ${address ?? ''}`);

describe('names in documents of a project', () => {
  const team = document('project', 'team');
  const container = inTeam('container', 'c1', { profiles: ['web'], source: { type: 'image', alias: 'base' } });

  test('refer to the project itself, which is created first', () => {
    const made = plan([container, team, inTeam('profile', 'web', { devices: { root } })], withTeam(undefined));
    // The alias is in default, but the project has its own images.
    expect(codes(made)).toEqual(['missing-reference container/c1@team']);
    const none = inTeam('container', 'c1', { profiles: ['web'], source: { type: 'none' } });
    expect(steps(plan([none, team, inTeam('profile', 'web', { devices: { root } })], withTeam(undefined)))).toEqual([
      'project/team#create',
      'profile/web@team#create',
      'container/c1@team#create',
      'container/c1@team#start',
    ]);
  });

  test('refer to default for kinds that the project shares with it', () => {
    const sharing = document('project', 'team', { config: shared });
    expect(steps(plan([container, sharing], withTeam(undefined)))).toContain('container/c1@team#create');
    expect(codes(plan([container], withTeam({ ...shared, 'features.profiles': 'true' })))).toEqual([
      'missing-reference container/c1@team',
    ]);
    expect(codes(plan([inTeam('profile', 'web')], withTeam(shared)))).toEqual(['not-in-project profile/web@team']);
  });

  test('names in documents of a project of the same object in two projects are two objects', () => {
    const made = plan([document('profile', 'new'), inTeam('profile', 'new'), team], withTeam(undefined));
    expect(steps(made).toSorted()).toEqual(['profile/new#create', 'profile/new@team#create', 'project/team#create']);
    const step = made.steps.find(({ id }) => id === 'profile/new@team#create');
    expect(step).toMatchObject({ name: 'new@team', project: 'team', body: { name: 'new' } });
  });

  test('include the default profile, which comes with the project and can only be changed', () => {
    const ofTeam = inTeam('profile', 'default', { config: { 'limits.cpu': '1' } });
    const made = plan([team, ofTeam], withTeam(undefined));
    expect(steps(made)).toEqual(['project/team#create', 'profile/default@team#update']);
    const gone = planDestroy({ documents: [ofTeam], observed: withTeam(shared, teamsProfile('default')) });
    expect(steps(gone)).toEqual(['profile/default@team#update']);
  });

  test('refer to a project that must exist', () => {
    expect(codes(plan([inTeam('profile', 'web')], withTeam(undefined)))).toEqual([
      'missing-reference profile/web@team',
    ]);
  });
});

describe('an edit of a profile', () => {
  const edited = { config: { 'security.nesting': 'true' } };

  test('reaches containers of its own project only', () => {
    const observed = withTeam(
      { ...shared, 'features.profiles': 'true' },
      { ...teamsContainer(['web']), ...teamsProfile('web') },
    );
    const reached = (one: Document): readonly string[] =>
      plan([one], observed).changes.flatMap(({ affects }) => affects.map(({ address }) => address));
    expect(reached(inTeam('profile', 'web', edited))).toEqual(['container/c1@team']);
    expect(reached(document('profile', 'web', edited))).toEqual([]);
  });

  test('an edit of a profile of default reaches containers of projects that share it, and restarts the declared ones', () => {
    const observed = withTeam(shared, teamsContainer(['web']));
    const declared = inTeam('container', 'c1', { profiles: ['web'] });
    const made = plan([document('profile', 'web', edited), declared], observed);
    expect(steps(made)).toEqual(['profile/web#update', 'container/c1@team#restart']);
    expect(made.steps[1]).toMatchObject({ name: 'c1@team', project: 'team' });
  });
});

describe('a project', () => {
  const team = document('project', 'team');
  const observed = withTeam(shared, teamsContainer(['web']));

  test('is deleted after its contents, and stays while it has others', () => {
    const all = planDestroy({ documents: [team, inTeam('container', 'c1')], observed });
    expect(checkPlan(all, observed)).toEqual([]);
    expect(steps(all).at(-1)).toBe('project/team#delete');
    const alone = planDestroy({ documents: [team], observed });
    expect(alone.guards.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      'in-use: cannot delete project/team: container/c1@team uses it',
    ]);
  });

  test('keeps its features while it is not empty', () => {
    const turned = document('project', 'team', { config: { 'features.profiles': 'true' } });
    expect(plan([turned], observed).guards.map(({ code }) => code)).toEqual(['in-use']);
    expect(plan([turned], withTeam(shared)).guards).toEqual([]);
    const ofDefault = document('project', 'default', { config: { 'features.networks': 'true' } });
    expect(plan([ofDefault], observed).guards.map(({ message }) => message)[0]).toContain('project default cannot be');
  });

  test('says true or false of a feature that the server gives every new one', () => {
    const empty = { 'features.profiles': '', 'features.images': null, 'features.networks': '', 'limits.cpu': '' };
    expect(project.validate({ config: empty }, 'team').map(({ path }) => path)).toEqual([
      'config.features.profiles',
      'config.features.images',
    ]);
  });

  test('needs a server that has them', () => {
    expect(codes(plan([team, inTeam('profile', 'web')], world()))).toEqual([
      'not-capable project/team',
      'not-capable profile/web@team',
    ]);
  });
});
