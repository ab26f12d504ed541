// Updates in a cluster, which write to single members or move a container before they write the object: nothing is written that the plan
// or the rules do not allow.
import { expect, test } from 'vitest';
import type { Change } from '../../../reconciler/core/documents/change.ts';
import type { UpdateStep } from '../../../reconciler/core/plan/plan.ts';
import { type EngineClient, NotPermittedError, type StepContext } from '../../../reconciler/engine/steps/context.ts';
import { updateObject } from '../../../reconciler/engine/steps/update.ts';
import { ClientError } from '../../../server/client/client-error.ts';

type Config = Record<string, string>;
interface Patch {
  readonly config: Config;
  readonly description?: string;
}

/** One object of a cluster, with the config of its members. */
class ClusterObject {
  config: Config = { 'limits.memory': '1GiB' };
  location = 'm1';
  description: string | undefined;
  readonly members: Record<string, Config> = { m1: { key: 'a' }, m2: { key: 'a' } };
  readonly writes: string[] = [];
  /** Called before each write takes effect. */
  beforeWrite: () => void = () => undefined;

  #read(target?: string) {
    const config = { ...this.config, ...(target === undefined ? {} : this.members[target]) };
    const described = this.description === undefined ? {} : { description: this.description };
    return { status: 200, metadata: { config, location: this.location, ...described }, etag: JSON.stringify(config) };
  }

  #write(what: string, effect: () => void, write: { target?: string; ifMatch?: string } = {}) {
    this.beforeWrite();
    if (write.ifMatch !== undefined && write.ifMatch !== this.#read(write.target).etag)
      throw new ClientError('preconditionFailed', 'changed', { status: 412 });
    effect();
    this.writes.push(what);
    return { status: 200, metadata: {} };
  }

  /** A description that is left out is removed, as LXD does. */
  #patch({ config, description }: Patch, target: string): void {
    Object.assign(this.members[target] ?? {}, config);
    this.description = description;
  }

  get context(): StepContext {
    const client = {
      get: async (_kind: unknown, _name: unknown, _signal: unknown, target?: string) => this.#read(target),
      put: async (_kind: unknown, _name: unknown, body: { config: Config }, write: object) =>
        this.#write('put', () => (this.config = body.config), write),
      patch: async (_kind: unknown, _name: unknown, body: Patch, write: { target: string }) =>
        this.#write(`patch ${write.target}`, () => this.#patch(body, write.target), write),
      http: {
        send: async ({ query }: { query: { target: string } }) =>
          this.#write(`move to ${query.target}`, () => (this.location = query.target)),
      },
      operations: { run: (begin: () => unknown) => begin() },
    } as unknown as EngineClient;
    const silent = { onOperation: () => undefined, onProgress: () => undefined };
    return { client, ...silent, nowMs: () => 0, pause: async () => undefined };
  }
}

const edit = (segments: readonly string[], before: string, after: string): Change => {
  const path = segments[0] === 'location' ? 'target' : segments.join('.');
  return { path, segments, before, after, effect: 'live', secret: false };
};
const memory = edit(['config', 'limits.memory'], '1GiB', '2GiB');
const ofMember = (name: string): Change => edit(['member_overrides', name, 'key'], 'a', 'b');
const move = edit(['location'], 'm1', 'm2');

const step = (kind: 'container' | 'network', ...edits: readonly Change[]): UpdateStep => ({
  id: 'x',
  action: 'update',
  kind,
  name: 'x',
  address: `${kind}/x`,
  needs: [],
  timeoutMs: 60_000,
  edits,
});

const update = (object: ClusterObject, planned: UpdateStep, more: Partial<StepContext> = {}): Promise<unknown> =>
  updateObject({ ...object.context, ...more }, planned, new AbortController().signal);

test.each([
  ['the members', 'network', 'patch m1,patch m2,put', [ofMember('m1'), ofMember('m2'), memory]],
  ['the move', 'container', 'move to m2,put', [move, memory]],
] as const)('an update writes %s first', async (_what, kind, writes, edits) => {
  const object = new ClusterObject();
  await update(object, step(kind, ...edits));
  expect(object.writes.join()).toBe(writes);
});

test('an update of a member keeps the description of the object', async () => {
  const object = new ClusterObject();
  object.description = 'mine';
  await update(object, step('network', ofMember('m1')));
  expect(object).toMatchObject({ description: 'mine', members: { m1: { key: 'b' } } });
});

test('an update writes to no member when someone changed the key of one since the plan', async () => {
  const object = new ClusterObject();
  object.members['m2'] = { key: 'theirs' };
  const planned = step('network', ofMember('m1'), ofMember('m2'));
  await expect(update(object, planned)).rejects.toMatchObject({
    name: 'StaleError',
    message: 'someone changed it since the plan was made: member_overrides.m2.key',
  });
  expect(object.writes).toEqual([]);
});

test.each([
  ['writes to no member', step('network', ofMember('m1'), memory)],
  ['moves no container', step('container', move, memory)],
] as const)('an update %s when someone changed the object since the plan', async (_what, planned) => {
  const object = new ClusterObject();
  object.config = { 'limits.memory': '3GiB' };
  await expect(update(object, planned)).rejects.toMatchObject({ name: 'StaleError' });
  expect(object.writes).toEqual([]);
});

test.each([
  ['writes to no member', step('network', ofMember('m1'), memory)],
  ['moves no container', step('container', move, memory)],
] as const)('an update that a rule forbids %s', async (_what, planned) => {
  const object = new ClusterObject();
  const permit = (_step: unknown, write?: object): void => {
    if (write !== undefined) throw new NotPermittedError('no');
  };
  await expect(update(object, planned, { permit })).rejects.toBeInstanceOf(NotPermittedError);
  expect(object.writes).toEqual([]);
});

test('an update of a member reads again when someone changed another key of it meanwhile', async () => {
  const object = new ClusterObject();
  let seen = 0;
  object.beforeWrite = () => {
    if ((seen += 1) === 1) object.members['m1'] = { key: 'a', other: 'theirs' };
  };
  await update(object, step('network', ofMember('m1')));
  expect(object.members['m1']).toEqual({ key: 'b', other: 'theirs' });
});

test('an update of a member is stale when someone changes its key between the read and the write', async () => {
  const object = new ClusterObject();
  object.beforeWrite = () => {
    object.members['m1'] = { key: 'theirs' };
  };
  await expect(update(object, step('network', ofMember('m1')))).rejects.toMatchObject({ name: 'StaleError' });
  expect(object.members['m1']).toEqual({ key: 'theirs' });
});
