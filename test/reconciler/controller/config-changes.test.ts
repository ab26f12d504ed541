// Differences between two configurations of a controller.
import { describe, expect, test } from 'vitest';
import type { ControllerConfig, SetConfig } from '../../../reconciler/controller/config/config.ts';
import { changesBetween, changesText, type Configuration } from '../../../reconciler/controller/reload/changes.ts';
import type { Host } from '../../../reconciler/manifest/hosts-file.ts';

const host = (name: string, more: Partial<Host> = {}): Host => ({
  name,
  address: `unix:///${name}`,
  groups: [],
  labels: {},
  vars: {},
  ...more,
});

const set = (name: string, more: Partial<SetConfig> = {}): SetConfig =>
  ({ name, source: 'shop', path: '.', hosts: [], mode: 'heal', ...more }) as SetConfig;

const configured = (hosts: readonly Host[], more: Partial<ControllerConfig> = {}): Configuration => ({
  hosts,
  config: {
    file: '/c/gantry.yaml',
    folder: '/c',
    name: 'main',
    stateDir: '/c/state',
    stateKey: '/c/state.key',
    console: false,
    trustedProxies: [],
    parallelism: 4,
    hostsFile: '/c/hosts.yaml',
    sources: [{ name: 'shop', directory: { path: 'shop' } }],
    sets: [set('web')],
    generators: [],
    readGenerated: () => ({ problems: [] }),
    notifications: [],
    ...more,
  },
});

const none = { added: [], removed: [], changed: [] };

describe('changesBetween', () => {
  test('finds no changes in equal configurations', () => {
    const changes = changesBetween(configured([host('h1')]), configured([host('h1')]));
    expect(changesText(changes)).toBe('');
    expect(changes.refused).toEqual([]);
  });

  test('a new host moves the sets that have it, and no other', () => {
    const sets = [set('web'), set('db', { hosts: [{ by: 'name', name: 'h1' }] })];
    const changes = changesBetween(configured([host('h1')], { sets }), configured([host('h1'), host('h2')], { sets }));
    expect(changes.hosts).toEqual({ ...none, added: ['h2'] });
    expect(changes.moved).toEqual(['web']);
    expect(changes.sets).toEqual(none);
  });

  test('another label only changes the description of a host, another address reconnects', () => {
    const old = configured([host('h1'), host('h2')]);
    const labels = changesBetween(old, configured([host('h1', { labels: { rack: 'r2' } }), host('h2')]));
    expect(labels).toMatchObject({ hosts: none, described: ['h1'], moved: ['web'] });
    const address = changesBetween(old, configured([host('h1', { address: 'unix:///x' }), host('h2')]));
    expect(address).toMatchObject({ hosts: { ...none, changed: ['h1'] }, described: [], moved: ['web'] });
  });

  test('sets restart after a change of their entry, of their source, or of the parallelism', () => {
    const sets = [set('web'), set('db', { source: 'other' })];
    const sources = [
      { name: 'shop', directory: { path: 'shop' } },
      { name: 'other', directory: { path: 'other' } },
    ];
    const old = configured([host('h1')], { sets, sources });
    const mode = changesBetween(
      old,
      configured([host('h1')], { sources, sets: [set('web', { mode: 'report' }), set('db', { source: 'other' })] }),
    );
    expect(mode.sets).toEqual({ ...none, changed: ['web'] });
    const path = changesBetween(
      old,
      configured([host('h1')], { sets, sources: [{ name: 'shop', directory: { path: 'x' } }, ...sources.slice(1)] }),
    );
    expect(path).toMatchObject({ sources: { ...none, changed: ['shop'] }, sets: { ...none, changed: ['web'] } });
    const wide = changesBetween(old, configured([host('h1')], { sets, sources, parallelism: 8 }));
    expect(wide).toMatchObject({ hosts: { changed: ['h1'] }, sets: { changed: ['web', 'db'] } });
  });

  test('reports changes that need a restart', () => {
    const { refused } = changesBetween(
      configured([host('h1')]),
      configured([host('h1')], { name: 'other', stateDir: '/x', listen: '127.0.0.1:1' }),
    );
    expect(refused).toHaveLength(3);
    expect(refused[0]).toBe(
      'controller.name changed, which needs a restart of the controller: restart it, or change controller.name back',
    );
  });

  test('distinguishes access and notifications from the rest', () => {
    const auth = { tokens: [{ name: 'ann', role: 'operate' as const, file: '/t' }] };
    const changes = changesBetween(configured([host('h1')]), configured([host('h1')], { auth }));
    expect(changesText(changes)).toBe('access to the API changed');
    expect(changes).toMatchObject({ access: true, notifications: false, moved: [], sets: none });
  });
});
