// A plan warns about broken limits and restrictions of projects, by the rules of the daemon but without a request.
import { describe, expect, test } from 'vitest';
import type { Document, JsonObject } from '../../../reconciler/core/documents/document.ts';
import type { Container } from '../../../server/api/container/container.ts';
import type { Live, Observed } from '../../../reconciler/core/documents/observed.ts';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import {
  document,
  liveCertificate,
  liveContainer,
  livePool,
  liveProfile,
  liveProject,
  world,
} from '../../support/fakes/worlds.ts';

const root = { type: 'disk', path: '/', pool: 'fast' };
const features = { 'features.images': 'true', 'features.profiles': 'true', 'features.storage.volumes': 'true' };

/** A server with the project `team`, which has the containers. */
function withTeam(
  config: Record<string, string>,
  containers: Readonly<Record<string, Record<string, string>>> = {},
): Observed {
  const own = world({
    pools: [livePool('fast')],
    profiles: [liveProfile('default')],
    projects: [liveProject('default'), liveProject('team', { config: { ...features, ...config } })],
  });
  const found = Object.entries(containers).map(
    ([name, settings]) =>
      [
        `${name}@team`,
        { object: { ...liveContainer(name, { config: settings, devices: { root }, profiles: [] }), project: 'team' } },
      ] as const,
  );
  return { ...own, containers: new Map<string, Live<Container>>([...own.containers, ...found]) };
}

const project = (config: JsonObject): Document => document('project', 'team', { config });
const container = (name: string, config: JsonObject = {}, devices: JsonObject = {}): Document =>
  document(
    'container',
    `${name}@team`,
    { config, devices: { root, ...devices }, profiles: [], source: { type: 'none' } },
    { project: 'team' },
  );

const warnings = (documents: readonly Document[], observed: Observed): readonly string[] =>
  planChanges({ documents, observed })
    .diagnostics.filter(({ code }) => code === 'project-limit')
    .map(({ message }) => message);

describe('a plan', () => {
  test('warns about a container above the number that its project may have', () => {
    const observed = withTeam({ 'limits.containers': '1' }, { old: {} });
    expect(warnings([container('new')], observed)).toEqual([
      'the server will refuse project/team: limits.containers would be 2, and the project team has at most 1',
    ]);
    expect(warnings([container('new')], withTeam({ 'limits.containers': '2' }, { old: {} }))).toEqual([]);
  });

  test('warns about a missing value that its project limits, and about the sum of all values', () => {
    const observed = withTeam({ 'limits.memory': '1GiB' }, { old: { 'limits.memory': '512MiB' } });
    expect(warnings([container('new')], observed)).toEqual([
      'the server will refuse container/new@team: config.limits.memory is required: the project team limits limits.memory to 1GiB',
    ]);
    expect(warnings([container('new', { 'limits.memory': '768MiB' })], observed)).toEqual([
      expect.stringMatching(/limits\.memory would be 1\.25GiB, and the project team has at most 1GiB/),
    ]);
    expect(warnings([container('new', { 'limits.memory': '512MiB' })], observed)).toEqual([]);
  });

  test('takes values from profiles that the plan creates', () => {
    const profile = document('profile', 'small@team', { config: { 'limits.memory': '64MiB' } }, { project: 'team' });
    const small = container('new');
    const profiled = { ...small, values: { ...small.values, profiles: ['small'] } };
    expect(warnings([profile, profiled], withTeam({ 'limits.memory': '1GiB' }))).toEqual([]);
  });

  test('warns about what the restrictions of a new project do not allow', () => {
    const observed = world({ pools: [livePool('fast')], projects: [liveProject('default')] });
    const documents = [project({ restricted: 'true' }), container('new', { 'security.privileged': true })];
    expect(warnings(documents, observed)).toEqual([
      expect.stringContaining('container/new@team: config.security.privileged'),
    ]);
    expect(warnings([project({ restricted: 'true' }), container('new')], observed)).toEqual([]);
  });

  test('warns that the project changes before its contents when both shrink in one apply', () => {
    const observed = withTeam({ 'limits.memory': '1GiB' }, { old: { 'limits.memory': '1GiB' } });
    const documents = [project({ 'limits.memory': '512MiB' }), container('old', { 'limits.memory': '256MiB' })];
    expect(warnings(documents, observed)).toEqual([expect.stringContaining('it changes before its contents')]);
    expect(warnings(documents.slice(1), observed)).toEqual([]);
  });

  test('does not warn about broken limits that do not get worse', () => {
    const observed = withTeam({ 'limits.containers': '1' }, { a: {}, b: {} });
    expect(warnings([container('a', { 'user.a': '1' })], observed)).toEqual([]);
  });
});

describe('the projects of a certificate', () => {
  const observed = world({
    certificates: [liveCertificate('c', { name: 'c', restricted: true, projects: ['blue', 'red'] })],
    projects: [liveProject('default'), liveProject('red'), liveProject('blue')],
  });
  const stepsOf = (values: JsonObject, mode: 'merge' | 'exact' = 'merge'): number => {
    const one = document('certificate', 'c', values, {
      fingerprint: liveCertificate('c').fingerprint,
      manage: { mode },
    });
    return planChanges({ documents: [one], observed }).steps.length;
  };

  test('have no order, and a missing one is a change', () => {
    expect(stepsOf({ restricted: true, projects: ['red', 'blue'] })).toBe(0);
    expect(stepsOf({ restricted: true, projects: ['red'] })).toBe(1);
  });

  test('are no change in exact mode when the certificate has none', () => {
    const plain = world({ certificates: [liveCertificate('c', { name: 'c', restricted: false, projects: [] })] });
    const one = document(
      'certificate',
      'c',
      {},
      { fingerprint: liveCertificate('c').fingerprint, manage: { mode: 'exact' } },
    );
    expect(planChanges({ documents: [one], observed: plain }).steps).toEqual([]);
  });
});
