// Every endpoint for every class of callers, against expectations written by hand from spec parts 4 and 5.
import { describe, expect, test } from 'vitest';
import { rowIn, type CallerClass } from '../../server/api/endpoints/endpoint.ts';
import { endpoints } from '../../server/api/endpoints/endpoint-table.ts';
import { decide } from '../../server/auth/policy.ts';
import { sharedRows } from '../../server/auth/restricted-view.ts';
import { expectGolden } from '../support/golden.ts';
import { furtherRoutes, routeShape, specRows, type Auth } from './spec-rows.ts';

const expected = new Map<string, Auth>([
  ...specRows.map(([route, auth]) => [routeShape(route), auth] as const),
  ...furtherRoutes.map((route) => [routeShape(route), 'T'] as const),
  // A host that wants to join is not trusted yet: its secret is checked.
  [routeShape('POST /internal/cluster/accept'), 'GUT'] as const,
]);
const letters = { guest: 'G', untrusted: 'U', trusted: 'T' } as const;
const callers = ['guest', 'untrusted', 'trusted'] as const;
const allClasses: readonly CallerClass[] = ['guest', 'untrusted', 'restricted', 'trusted'];

describe('access', () => {
  for (const row of endpoints) {
    for (const caller of callers) {
      const auth = expected.get(routeShape(`${row.method} ${row.path}`));
      const allowed = auth?.includes(letters[caller]) ?? false;
      test(`${row.method} ${row.path} is ${allowed ? 'open to' : 'refused to'} ${caller} callers`, () => {
        expect(auth, 'a row without expectation').toBeDefined();
        const access = decide(caller, row);
        if (allowed) expect(access).toBe('allow');
        else expect(access).toMatchObject({ deny: 403 });
      });
    }
  }

  test('an untrusted LXD client may do what LXD allows, and nothing else', () => {
    const open = endpoints.filter((row) => decide('untrusted', rowIn('lxd', row)) === 'allow');
    expect(open.map((row) => `${row.method} ${row.path}`)).toEqual([
      'GET /',
      'GET /1.0',
      'POST /1.0/certificates',
      'GET /1.0/images',
      'GET /1.0/images/:fingerprint',
      'GET /1.0/images/:fingerprint/export',
      'GET /1.0/images/aliases/*',
      'GET /1.0/operations/:id/websocket',
      // A daemon of ours joins a cluster.
      'POST /internal/cluster/accept',
    ]);
    const trusted = endpoints.filter((row) => decide('trusted', rowIn('lxd', row)) === 'allow');
    expect(trusted).toHaveLength(endpoints.length);
  });

  const open = { auth: callers };
  test('a caller who demands trust is refused without it', () => {
    expect(decide('guest', open, { demandsTrust: true })).toMatchObject({ deny: 403 });
    expect(decide('untrusted', open, { demandsTrust: true })).toMatchObject({ deny: 403 });
    expect(decide('trusted', open, { demandsTrust: true })).toBe('allow');
  });

  test('a private object is hidden from callers without trust, unless a secret opens it', () => {
    for (const caller of ['guest', 'untrusted'] as const) {
      expect(decide(caller, open, { object: 'private' })).toMatchObject({ deny: 404 });
      expect(decide(caller, open, { object: 'public' })).toBe('allow');
      expect(decide(caller, open, { object: 'opened' })).toBe('allow');
    }
    expect(decide('trusted', open, { object: 'private' })).toBe('allow');
    expect(decide('guest', { auth: ['trusted'] }, { object: 'opened' })).toMatchObject({ deny: 403 });
  });

  test.each(endpoints)('$method $path serves a restricted caller in its own projects only', (row) => {
    const projects = ['mine'];
    const named = (name: string) => decide('restricted', row, { projects, project: { name, isNamed: true } });
    const unnamed = decide('restricted', row, { projects, project: { name: 'default', isNamed: false } });
    if (row.scope === 'server') {
      expect(named('mine')).toMatchObject({ deny: 403 });
      expect(unnamed).toMatchObject({ deny: 403 });
      return;
    }
    expect(named('mine')).toBe('allow');
    expect(named('theirs')).toEqual({ deny: 404, reason: 'not found', project: 'theirs' });
    expect(unnamed).toEqual(row.scope === 'shared' ? 'allow' : { deny: 404, reason: 'not found', project: 'default' });
    expect(
      decide('restricted', row, { projects, project: { name: 'mine', isNamed: true }, isAboutAll: true }),
    ).toMatchObject({ deny: 403 });
    // A restriction to nothing allows nothing.
    expect(decide('restricted', row, { project: { name: 'mine', isNamed: true } })).toMatchObject({ deny: 404 });
  });

  test('every endpoint of shared objects says what a restricted caller sees, and no other does', () => {
    const shared = endpoints.filter((row) => row.scope === 'shared').map((row) => row.id);
    expect(Object.keys(sharedRows).toSorted()).toEqual(shared.toSorted());
  });

  test('restricted callers change nothing that projects share but their own operations', () => {
    const changing = endpoints.filter((row) => row.scope === 'shared' && row.method !== 'GET').map((row) => row.id);
    expect(changing).toEqual(['operations.delete']);
  });

  test('every decision of the table equals the reviewed golden', () => {
    const lines = endpoints.map((row) => {
      const words = allClasses.map((caller) => {
        const access = decide(caller, row);
        const word = caller === 'restricted' ? (row.scope === 'project' ? 'project   ' : row.scope.padEnd(10)) : caller;
        return access === 'allow' ? word : '-'.repeat(word.length);
      });
      return `${words.join(' ')}  ${row.method.padEnd(6)} ${row.path}`;
    });
    expectGolden('contract/access.txt', `${lines.join('\n')}\n`);
  });
});
