// The rules of Terraform for plans and states, and the accuracy of the state after failures, on a toy provider.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { flag, integer, object, objectMap, text, textMap, texts } from '../../provider/framework/attribute.ts';
import { failure } from '../../provider/framework/diagnostic.ts';
import { parseDuration } from '../../provider/framework/duration.ts';
import { renderPath } from '../../provider/framework/path.ts';
import { planChange, fillUnknowns } from '../../provider/framework/plan.ts';
import { resource, type AnyProvider, type Resource } from '../../provider/framework/provider.ts';
import { ProviderServer } from '../../provider/framework/server.ts';
import { pause } from '../../server/lib/shared/deadline.ts';
import { validateAttributes } from '../../provider/framework/validate.ts';
import { timeoutsAttribute } from '../../provider/framework/timeouts.ts';
import {
  equalValues,
  isUnknown,
  isWhollyKnown,
  unknownValue,
  type Value,
  type ValueMap,
} from '../../provider/framework/value.ts';

const doc = '';
const attributes = {
  name: text({ doc, required: true, replace: true }),
  note: text({ doc, default: '' }),
  size: text({ doc, same: (a: string, b: string) => a.toLowerCase() === b.toLowerCase() }),
  tags: textMap({ doc }),
  zones: texts({ doc, optional: true, computed: true, keep: true }),
  secret: text({ doc, writeOnly: true }),
  address: text({ doc, computed: true }),
  born: text({ doc, computed: true, keep: true }),
  ports: objectMap({ number: integer({ doc, required: true }), host: text({ doc, computed: true }) }, { doc }),
  limits: object({ hard: flag({ doc, default: true }) }, { doc }),
  timeouts: timeoutsAttribute,
};
const empty: ValueMap = Object.fromEntries(Object.keys(attributes).map((name) => [name, null]));
const config = (more: ValueMap): ValueMap => ({ ...empty, name: 'a', ...more });
const stored = (more: ValueMap): ValueMap => ({
  ...config({ note: '', zones: ['z'], address: '10.0.0.1', born: 'then' }),
  ...more,
});

describe('a plan', () => {
  test('A plan of a new object has defaults, and everything computed is unknown', () => {
    const { planned, replace } = planChange(attributes, config({ secret: 'hush', limits: { hard: null } }), null);
    expect(planned).toMatchObject({ name: 'a', note: '', secret: null, tags: null, limits: { hard: true } });
    for (const name of ['zones', 'address', 'born']) expect(isUnknown(planned[name]), name).toBe(true);
    expect(replace).toEqual([]);
  });

  test('A plan without a difference is the state itself', () => {
    const state = stored({ size: '1GiB', ports: { web: { number: 80, host: 'h' } } });
    const { planned, differs } = planChange(
      attributes,
      config({ size: '1gib', secret: 'other', ports: { web: { number: 80, host: null } } }),
      state,
    );
    expect(differs).toBe(false);
    expect(planned).toEqual(state);
  });

  test('A plan of a change keeps values that an update keeps, and unchanged nested objects', () => {
    const state = stored({ ports: { web: { number: 80, host: 'h1' }, db: { number: 5432, host: 'h2' } } });
    const wanted = config({ ports: { web: { number: 80, host: null }, db: { number: 5433, host: null } } });
    const { planned } = planChange(attributes, wanted, state);
    expect(planned).toMatchObject({ born: 'then', zones: ['z'], ports: { web: { number: 80, host: 'h1' } } });
    expect(isUnknown(planned['address'])).toBe(true);
    expect(isUnknown((planned['ports'] as Record<string, ValueMap>)['db']!['host'])).toBe(true);
  });

  test('A plan replaces an object only for a change that an update cannot make', () => {
    expect(planChange(attributes, config({ note: 'x' }), stored({})).replace).toEqual([]);
    const { replace } = planChange(attributes, config({ name: 'b' }), stored({}));
    expect(replace.map(renderPath)).toEqual(['name']);
    expect(planChange(attributes, config({ name: unknownValue }), stored({})).replace.map(renderPath)).toEqual([
      'name',
    ]);
  });

  const known = fc.string();
  const maybe = <T extends Value>(of: fc.Arbitrary<T>): fc.Arbitrary<Value> =>
    fc.oneof({ weight: 4, arbitrary: of }, fc.constant(null), fc.constant<Value>(unknownValue));
  const anyConfig = fc.record({
    note: maybe(known),
    size: maybe(known),
    tags: maybe(fc.dictionary(known, known) as fc.Arbitrary<ValueMap>),
    zones: maybe(fc.array(known)),
    secret: maybe(known),
    ports: maybe(
      fc.dictionary(known, fc.record({ number: fc.nat(), host: fc.constant(null) })) as fc.Arbitrary<ValueMap>,
    ),
  });

  test('A plan never rewrites configured values, is null where nothing fills a value in, and is the same each time', () => {
    fc.assert(
      fc.property(anyConfig, anyConfig, (first, second) => {
        const created = planChange(attributes, config(first), null).planned;
        const state = fillUnknowns(created, stored({})) as ValueMap;
        expect(isWhollyKnown(state)).toBe(true);
        const { planned } = planChange(attributes, config(second), state);
        expect(planChange(attributes, config(second), state).planned).toEqual(planned);
        for (const name of ['note', 'size', 'tags', 'zones'] as const) {
          const given = second[name];
          if (given === null || given === undefined) continue;
          const isAllowed =
            equalValues(planned[name]!, given) || isUnknown(given) || equalValues(planned[name]!, state[name]!);
          expect(isAllowed, name).toBe(true);
        }
        expect(planned['secret']).toBeNull();
        if (second.tags === null) expect(planned['tags']).toBeNull();
      }),
    );
  });
});

interface Toy {
  readonly live: Map<string, { note: string | null }>;
  fail?: 'refused' | 'after' | 'lost' | 'slow' | 'late' | undefined;
  unreadable?: boolean;
}

function toyServer(toy: Toy): ProviderServer<Toy> {
  const small = { name: attributes.name, note: attributes.note, born: attributes.born, timeouts: attributes.timeouts };
  const breakAt = async (when: Toy['fail'], signal: AbortSignal): Promise<void> => {
    if (toy.fail !== when) return;
    if (when === 'slow')
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    if (when === 'late') {
      await pause(50, undefined);
      signal.throwIfAborted();
      return;
    }
    throw new Error(`broken: ${when}`);
  };
  const thing: Resource<typeof small, Toy> = {
    typeName: 'toy_thing',
    doc,
    version: 1,
    upgrades: { 0: ({ label, ...rest }) => ({ ...rest, name: label ?? null }) },
    attributes: small,
    identity: ['name'],
    importing: { doc, example: 'a', parse: (id) => ({ name: id }), id: ({ name = '' }) => name },
    async read({ name }, { client, privateData }) {
      if (client.unreadable === true) throw new Error('nobody answers');
      const found = client.live.get(name);
      privateData['etag'] = `version of ${found?.note}`;
      return found === undefined ? null : { note: found.note, born: 'now' };
    },
    async create({ planned }, { client, mayExist, signal }) {
      await breakAt('refused', signal);
      mayExist();
      await breakAt('slow', signal);
      await breakAt('late', signal);
      if (toy.fail !== 'lost') client.live.set(planned.name, { note: planned.note });
      await breakAt('lost', signal);
      await breakAt('after', signal);
    },
    async update({ planned }, prior, { client, signal }) {
      await breakAt('refused', signal);
      client.live.delete(prior.name);
      client.live.set(planned.name, { note: planned.note });
      await breakAt('after', signal);
    },
    async delete({ name }, { client, signal }) {
      await breakAt('refused', signal);
      client.live.delete(name);
      await breakAt('after', signal);
    },
  };
  const provider: AnyProvider<Toy> = {
    name: 'toy',
    doc,
    attributes: {},
    configure: async () => ({ client: toy, close: async () => {} }),
    resources: [resource<Toy>()(thing)],
    dataSources: [],
    functions: [],
    ephemeralResources: [],
    explain: (what, error) => [failure(`Cannot ${what}`, String(error))],
  };
  return new ProviderServer(provider);
}

async function toyWith(more: Partial<Toy> = {}): Promise<{ readonly toy: Toy; readonly server: ProviderServer<Toy> }> {
  const toy: Toy = { live: new Map(), ...more };
  const server = toyServer(toy);
  expect(await server.configure({})).toEqual([]);
  return { toy, server };
}

const wanted = (note: string): ValueMap => ({ name: 'a', note, born: null, timeouts: null });
const planned = (note: string): ValueMap => ({ ...wanted(note), born: unknownValue });
const create = (server: ProviderServer<Toy>, more: ValueMap = {}) =>
  server.apply('toy_thing', {
    prior: null,
    planned: { ...planned('x'), ...more },
    config: wanted('x'),
    privateData: {},
  });

describe('a state after an apply', () => {
  test('The state after an apply is the plan, with the rest read from the object', async () => {
    const { server } = await toyWith();
    expect(await create(server)).toMatchObject({ state: { name: 'a', note: 'x', born: 'now' }, diagnostics: [] });
  });

  test('The state has no object that the server refused', async () => {
    const { server } = await toyWith({ fail: 'refused' });
    const { state, diagnostics } = await create(server);
    expect(state).toBeNull();
    expect(diagnostics).toMatchObject([{ severity: 'error', detail: 'Error: broken: refused' }]);
  });

  test('The state has an object that was created before a failure, unless it then turns out not to exist', async () => {
    const made = await toyWith({ fail: 'after' });
    expect(await create(made.server)).toMatchObject({
      state: { name: 'a', note: 'x', born: 'now' },
      diagnostics: [{ severity: 'error' }],
    });
    const lost = await toyWith({ fail: 'lost' });
    expect((await create(lost.server)).state).toBeNull();
  });

  test('The state keeps an object that could not be read, wholly known, with a warning', async () => {
    const { server } = await toyWith({ fail: 'after', unreadable: true });
    const { state, diagnostics } = await create(server);
    expect(state).toEqual({ name: 'a', note: 'x', born: null, timeouts: null });
    expect(diagnostics.map(({ severity }) => severity)).toEqual(['error', 'warning']);
  });

  test('The state after a failed update is the live object, changed or not', async () => {
    for (const [fail, note] of [
      ['refused', 'x'],
      ['after', 'y'],
    ] as const) {
      const { toy, server } = await toyWith();
      const { state: prior } = await create(server);
      toy.fail = fail;
      const input = { prior, planned: { ...prior, note: 'y' }, config: wanted('y'), privateData: {} };
      const { state, diagnostics } = await server.apply('toy_thing', input);
      expect([state?.['note'], diagnostics.length]).toEqual([note, 1]);
    }
  });

  test('A refresh finds an object by its new or old name after an update whose outcome nobody could read', async () => {
    for (const [fail, name] of [
      ['after', 'b'],
      ['refused', 'a'],
    ] as const) {
      const { toy, server } = await toyWith();
      const { state: prior } = await create(server);
      Object.assign(toy, { fail, unreadable: true });
      const config = { ...wanted('x'), name: 'b' };
      const input = { prior, planned: { ...prior, name: 'b' }, config, privateData: {} };
      const { state, privateData } = await server.apply('toy_thing', input);
      expect(state).toEqual(prior);
      expect((await server.read('toy_thing', state ?? {}, privateData)).privateData).toEqual(privateData);
      toy.unreadable = false;
      const found = await server.read('toy_thing', state ?? {}, privateData);
      expect(found).toMatchObject({ state: { name }, diagnostics: [] });
      expect(found.privateData).toEqual(name === 'b' ? { etag: 'version of x' } : {});
    }
  });

  test('The state drops an object after a deletion with a lost answer, and keeps it after a refused one', async () => {
    for (const [fail, isGone] of [
      ['after', true],
      ['refused', false],
    ] as const) {
      const { toy, server } = await toyWith();
      const { state: prior } = await create(server);
      toy.fail = fail;
      const { state, diagnostics } = await server.apply('toy_thing', {
        prior,
        planned: null,
        config: null,
        privateData: {},
      });
      expect([state === null, diagnostics.length === 0]).toEqual([isGone, isGone]);
    }
  });

  test('A timeout names the attribute that raises the limit', async () => {
    const { server } = await toyWith({ fail: 'slow' });
    const { diagnostics, state } = await create(server, {
      timeouts: { create: '50ms', read: null, update: null, delete: null },
    });
    expect(state).toBeNull();
    expect(diagnostics[0]).toMatchObject({
      summary: 'Timed out: create toy_thing',
      detail: expect.stringContaining('timeouts attribute'),
    });
  });

  test('A limit beyond the longest timer of Node does not end an operation at once', async () => {
    const { server } = await toyWith({ fail: 'late' });
    const { diagnostics, state } = await create(server, {
      timeouts: { create: '600h', read: null, update: null, delete: null },
    });
    expect(diagnostics).toEqual([]);
    expect(state).toMatchObject({ name: 'a' });
  });
});

describe('other calls', () => {
  test('States of older versions are upgraded step by step', async () => {
    const { server } = await toyWith();
    expect(server.upgrade('toy_thing', { version: 0, json: '{"label":"a","note":"n"}' }).state).toEqual({
      name: 'a',
      note: 'n',
      born: null,
      timeouts: null,
    });
  });

  test.each([
    ['name', { name: null }],
    ['name', { name: '' }],
    ['ports["web"].number', { ports: { web: { number: null, host: null } } }],
  ])('A required %s that is null or empty is refused at its place', (path, more) => {
    const found = validateAttributes(attributes, config(more), { writeOnlyAllowed: true });
    expect(found.map(({ summary }) => summary)).toEqual([`${path} is missing`]);
  });

  test('A vanished object reads as null, and an import has only its id', async () => {
    const { server } = await toyWith();
    expect((await server.read('toy_thing', wanted('x'), {})).state).toBeNull();
    expect(server.import('toy_thing', { id: 'b' }).state).toEqual({
      name: 'b',
      note: null,
      born: null,
      timeouts: null,
    });
    expect(server.import('toy_thing', { identity: { name: 'c' } }).state).toMatchObject({ name: 'c' });
  });

  test('A refresh that finds the same state keeps its version, so that Terraform sees no change', async () => {
    const { toy, server } = await toyWith();
    toy.live.set('a', { note: 'x' });
    const read = async (note: string, version: object) =>
      (await server.read('toy_thing', { ...wanted(note), born: 'now' }, { ...version, other: 'kept' })).privateData;
    expect(await read('x', { etag: 'former' })).toEqual({ etag: 'former', other: 'kept' });
    expect(await read('x', {})).toEqual({ other: 'kept' });
    expect(await read('y', { etag: 'former' })).toEqual({ etag: 'version of x', other: 'kept' });
  });

  test('A provider without configuration does nothing, and the state stays', async () => {
    const server = toyServer({ live: new Map() });
    const { state, diagnostics } = await server.read('toy_thing', wanted('x'), {});
    expect(state).toEqual(wanted('x'));
    expect(diagnostics[0]?.detail).toContain('known only after apply');
  });

  test('Durations are parsed', () => {
    expect(['90s', '5m', '1h30m', '50ms', '1d'].map(parseDuration)).toEqual([
      90_000, 300_000, 5_400_000, 50, 86_400_000,
    ]);
    for (const wrong of ['', '5', 'm', '-5m', '0s', '5 m', '1w']) expect(parseDuration(wrong), wrong).toBeUndefined();
  });
});
