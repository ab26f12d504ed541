// A viewer with grants for some sets sees nothing of the others at any endpoint.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { request as httpRequest } from 'node:http';
import type {
  DriftRecord,
  Overview,
  RunRecord,
  SearchResult,
  TimelineEntry,
} from '../../../../reconciler/controller/contract/index.ts';
import { scopeOf } from '../../../../reconciler/controller/http/access/scope.ts';
import { anObject, anOperation, aSet, FakeController } from '../../../support/controller/fake-controller.ts';
import { startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { until } from '../../../support/until.ts';

const at = '2030-01-31T12:00:00Z';
const line = (message: string, about: object) => ({ at, level: 'info', message, ...about }) as const;
const onHost = (host: string) => ({
  host,
  status: 'synced' as const,
  objects: { total: 1, synced: 1, drifted: 0, failed: 0 },
});

class TwoTeams extends FakeController {
  override sets = [
    aSet('shop', { hosts: [onHost('h1')] }),
    aSet('secret', { source: 'hidden', hosts: [onHost('h9')] }),
  ];
  override lines = [
    line('shop ran', { set: 'shop' }),
    line('secret ran', { set: 'secret' }),
    line('h9 is offline', { host: 'h9' }),
    line('hidden changed', { source: 'hidden' }),
    line('GET /api/v1/sets/secret/objects', {}),
  ];

  override overview(): Overview {
    const all = super.overview();
    const [source] = all.sources;
    const config = { readAt: at, problems: ['sets.1: secret is wrong'] };
    return {
      controller: { ...all.controller, config },
      sources: source === undefined ? [] : [source, { ...source, name: 'hidden', url: 'https://git.test/secret' }],
      hosts: ['h1', 'h9'].map((name) => ({ name, labels: {}, status: 'online' as const })),
      sets: this.sets,
    };
  }

  override objects(set: string) {
    const found = super.objects(set);
    return { ...found, objects: found.objects.map((one) => ({ ...one, message: `${set} says so` })) };
  }

  override history(set: string): RunRecord[] {
    super.history(set);
    const { id, startedAt } = anOperation(set);
    const [host] = this.sets.find(({ name }) => name === set)?.hosts ?? [];
    const at = startedAt;
    return [{ id, at, hosts: [host?.host ?? ''], reason: `${set} ran` } as unknown as RunRecord];
  }

  override drift(set: string): DriftRecord[] {
    super.drift(set);
    const [host] = this.sets.find(({ name }) => name === set)?.hosts ?? [];
    return [{ id: set, at, host: host?.host, address: `profile/${set}`, fields: [] } as unknown as DriftRecord];
  }

  override operations() {
    return [anOperation('shop'), anOperation('secret')];
  }
}

const controller = new TwoTeams();
let http: HttpHarness;
beforeAll(async () => {
  http = await startHttp({
    controller,
    anonymous: 'view',
    grants: [{ users: ['viewer'], sets: ['sh*'], rights: ['view'] }],
  });
});
afterAll(() => http.close());

const own = (path: string) => http.ask(path, { token: tokens.view });
const paths = [
  '/api/v1/overview',
  '/api/v1/operations',
  '/api/v1/logs',
  '/api/v1/logs?set=secret',
  '/metrics',
  '/api/v1/session',
  '/api/v1/timeline',
  '/api/v1/search?words=s',
];

describe('a viewer whose grants name one set', () => {
  test.each(paths)('finds nothing of the other in %s', async (path) => {
    const { status, text } = await own(path);
    expect(status).toBe(200);
    expect(text).not.toMatch(/secret|hidden|h9/);
    const all = await http.ask(path, { token: tokens.operate });
    if (path !== '/api/v1/session') expect(all.text).toMatch(/secret/);
  });

  test.each(['secret', 'h9', 'hidden', 'git.test/secret', 'secret says'])(
    'finds nothing of the other by searching for %s, not even counts',
    async (words) => {
      const path = `/api/v1/search?words=${encodeURIComponent(words)}`;
      expect((await own(path)).json()).toEqual({ hits: [], total: 0 });
      const all = (await http.ask(path, { token: tokens.operate })).json<SearchResult>();
      expect(all.total).toBeGreaterThan(0);
    },
  );

  test('finds objects of the own set, and its history in the timeline', async () => {
    const { hits } = (await own('/api/v1/search?words=shop')).json<SearchResult>();
    expect(hits.map(({ type, set = '' }) => `${type} ${set}`)).toEqual(expect.arrayContaining(['set ', 'object shop']));
    const happened = (await own('/api/v1/timeline')).json<readonly TimelineEntry[]>();
    expect(happened.map(({ set }) => set)).toEqual(['shop', 'shop']);
  });

  test('gets no timeline of the other by its name or host', async () => {
    const [hidden, missing] = [await own('/api/v1/timeline?set=secret'), await own('/api/v1/timeline?set=nosuch')];
    expect([hidden.status, hidden.text]).toEqual([404, missing.text.replaceAll('nosuch', 'secret')]);
    expect((await own('/api/v1/timeline?host=h9')).json()).toEqual([]);
    const all = await http.ask('/api/v1/timeline?host=h9', { token: tokens.operate });
    expect(all.json<readonly TimelineEntry[]>().map(({ set }) => set)).toEqual(['secret', 'secret']);
  });

  test.each(['objects', 'drift', 'history', 'object?host=h9&address=container/web1'])(
    'gets the same answer for %s as for a missing set',
    async (what) => {
      const hidden = await own(`/api/v1/sets/secret/${what}`);
      const missing = await own(`/api/v1/sets/nosuch/${what}`);
      expect([hidden.status, hidden.text]).toEqual([404, missing.text.replaceAll('nosuch', 'secret')]);
      expect(hidden.text).toContain('there are shop');
    },
  );

  test.each(['sync', 'suspend', 'resume', 'rollback', 'prune', 'approve', 'preview'])(
    'may not %s the other',
    async (what) => {
      const asked = (set: string) =>
        http.ask(`/api/v1/sets/${set}/${what}`, { token: tokens.view, body: { reason: 'x' } });
      const [hidden, missing] = [await asked('secret'), await asked('nosuch')];
      expect([hidden.status, hidden.text]).toEqual([403, missing.text]);
    },
  );

  test('sees all of the own set', async () => {
    const overview = (await own('/api/v1/overview')).json<Overview>();
    expect(overview.sets.map(({ name }) => name)).toEqual(['shop']);
    expect(overview.hosts.map(({ name }) => name)).toEqual(['h1']);
    expect((await own('/api/v1/sets/shop/objects')).json()).toMatchObject({ total: 2 });
    expect((await own('/metrics')).text).toContain('gantry_set_status{set="shop"');
  });

  test('gets only events of the own set, also missed ones', async () => {
    const shown = [await stream(tokens.view), await stream(tokens.operate), await stream(undefined)] as const;
    controller.emit({ type: 'object', set: 'secret', object: anObject('hidden1') });
    controller.emit({ type: 'set', set: aSet('secret') });
    controller.emit({ type: 'run', operation: anOperation('secret') });
    controller.emit({ type: 'host', host: { name: 'h9', labels: {}, status: 'offline' } });
    controller.emit({ type: 'log', line: line('secret ran', { set: 'secret' }) });
    controller.emit({ type: 'log', line: line('GET /api/v1/sets/secret', {}) });
    controller.emit({ type: 'host', host: { name: 'h1', labels: {}, status: 'offline' } });
    controller.emit({ type: 'set', set: aSet('shop') });
    const [mine, all, nobody] = shown;
    await until(() => mine.text().includes('"shop"') && all.text().includes('"shop"'));
    expect(mine.text()).toContain('"h1"');
    expect(mine.text()).not.toMatch(/secret|hidden|h9/);
    expect(all.text()).toMatch(/secret[^]*h9/);
    expect(nobody.text()).not.toContain('data:');
    const [, first = ''] = /^id: (\S+)$/m.exec(mine.text()) ?? [];
    const missed = await stream(tokens.view, first);
    await until(() => missed.text().includes('"shop"'));
    expect(missed.text()).not.toMatch(/secret|hidden|h9/);
    for (const one of [...shown, missed]) one.close();
  });

  test('sees no set without a login', async () => {
    const { sets, hosts, sources } = (await http.ask('/api/v1/overview')).json<Overview>();
    expect([sets, hosts, sources]).toEqual([[], [], []]);
  });
});

describe('the scope of a caller', () => {
  const bob = { role: 'view', token: { name: 'bob' } } as const;
  const view = { users: ['ann'], sets: ['a'], rights: ['view'] as const };
  test.each<[string, Parameters<typeof scopeOf>[0], object, readonly string[]]>([
    ['all without a grant of the right view', [{ users: ['bob'], sets: ['a'], rights: ['sync'] }], bob, ['a', 'b']],
    ['none when only others have grants', [view], bob, []],
    ['those that one may change', [view, { users: ['bob'], sets: ['b'], rights: ['sync'] }], bob, ['b']],
    ['none by a right to consoles', [view, { users: ['bob'], rights: ['console'] }], bob, []],
    ['all by a grant without sets', [view, { users: ['bob'], rights: ['view'] }], bob, ['a', 'b']],
    ['those of a group', [{ groups: ['g'], sets: ['b'], rights: ['view'] }], { role: 'view', groups: ['g'] }, ['b']],
    ['all with the role operate', [view], { role: 'operate' }, ['a', 'b']],
  ])('%s', (_what, grants, who, seen) => {
    const scope = scopeOf(grants, who);
    expect(['a', 'b'].filter((set) => scope?.(set) ?? true)).toEqual(seen);
  });
});

async function stream(token: string | undefined, lastId?: string) {
  let text = '';
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  };
  const request = httpRequest(`${http.listener.url}/api/v1/events`, { headers, agent: false });
  await new Promise<void>((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response) => {
      response.on('error', () => undefined);
      response.on('data', (part: Buffer) => void (text += part.toString()));
      resolve();
    });
    request.end();
  });
  return { text: () => text, close: () => request.destroy() };
}
