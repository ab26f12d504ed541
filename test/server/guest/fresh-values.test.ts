// The guest socket shows a change as soon as the change was answered: on open connections, and in events.
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Answer,
  createContainer,
  type Json,
  type Listening,
  listenOn,
  makeSeeded,
  setState,
  type TestDaemon,
} from '../../support/daemons/daemon.ts';

let daemon: TestDaemon;
const agents: Agent[] = [];
const listeners: Listening[] = [];
beforeAll(async () => {
  daemon = await makeSeeded();
  expect((await daemon.call('POST', '/1.0/profiles', { name: 'shared', config: {} })).status).toBe(200);
  for (const name of names) {
    await createContainer(daemon, name, { profiles: ['default', 'shared'] });
    expect((await setState(daemon, name, 'start')).status_code).toBe(200);
  }
});
afterAll(async () => {
  for (const agent of agents) agent.destroy();
  for (const listener of listeners) listener.close();
  await daemon?.cleanUp();
});

const names = ['one', 'two'];
const socketOf = (name: string): string =>
  join(daemon.dir, 'storage-pools/default/containers', name, 'rootfs/dev/lxd/sock');

interface Reader {
  /** The value of a key as the guest reads it; `404` if it is not set. */
  read(key: string): Promise<string>;
  readonly connections: ReadonlySet<number>;
}

/** One connection that stays open between its requests. */
function readerIn(name: string): Reader {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  const connections = new Set<number>();
  const seen = new WeakMap<object, number>();
  const read = (key: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const asked = request({ socketPath: socketOf(name), path: `/1.0/config/${key}`, agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.once('end', () => resolve(answer.statusCode === 200 ? text : String(answer.statusCode)));
      });
      asked.once('socket', (socket) => {
        if (!seen.has(socket)) seen.set(socket, connections.size);
        connections.add(seen.get(socket) ?? -1);
      });
      asked.once('error', reject);
      asked.end();
    });
  return { read, connections };
}

async function listen(name: string): Promise<Listening> {
  const listening = await listenOn(`ws+unix://${socketOf(name)}:/1.0/events?type=config`);
  listeners.push(listening);
  return listening;
}

/** Each answers when the change is made. */
const changes: readonly [what: string, path: string, change: (key: string, value: string) => Promise<unknown>][] = [
  ['PATCH of the container', 'one', (key, value) => sync('PATCH', '/1.0/containers/one', { config: { [key]: value } })],
  [
    'PUT of the container',
    'one',
    (key, value) =>
      daemon.ok('PUT', '/1.0/containers/one', { config: { [key]: value }, profiles: ['default', 'shared'] }),
  ],
  ['PATCH of a profile', 'both', (key, value) => sync('PATCH', '/1.0/profiles/shared', { config: { [key]: value } })],
  ['PUT of a profile', 'both', (key, value) => sync('PUT', '/1.0/profiles/shared', { config: { [key]: value } })],
];

async function sync(method: 'PUT' | 'PATCH', path: string, body: object): Promise<Answer> {
  const answer = await daemon.call(method, path, body);
  expect([method, path, answer.status]).toEqual([method, path, 200]);
  return answer;
}

describe('a guest reads a new value at once after', () => {
  test.each(changes)('a %s, on open connections, and gets one event', async (what, whose, change) => {
    const key = `user.${what.replaceAll(' ', '-')}`;
    const guests = whose === 'both' ? names : [whose];
    const readers = guests.flatMap((name) => [readerIn(name), readerIn(name), readerIn(name)]);
    const heard = await Promise.all(guests.map(listen));
    const all = (): Promise<readonly string[]> => Promise.all(readers.map((reader) => reader.read(key)));
    expect(new Set(await all())).toEqual(new Set(['404']));
    const values = Array.from({ length: 8 }, (_, round) => `v${round}`);
    for (const value of values) {
      await change(key, value);
      expect(new Set(await all()), value).toEqual(new Set([value]));
    }
    for (const { connections } of readers) expect(connections.size).toBe(1);
    for (const listener of heard) {
      await listener.next((event) => (event.metadata as Json).value === values.at(-1), 25_000);
      const told = listener.events
        .map(({ metadata }) => metadata as { key: string; old_value: string; value: string })
        .filter((event) => event.key === key);
      expect(told).toEqual(values.map((value, at) => ({ key, old_value: values[at - 1] ?? '', value })));
    }
  });

  test('profiles of a container are exchanged', async () => {
    await daemon.call('POST', '/1.0/profiles', { name: 'other', config: { 'user.exchanged': 'yes' } });
    const reader = readerIn('two');
    expect(await reader.read('user.exchanged')).toBe('404');
    const profiles = (list: readonly string[]): Promise<Answer> =>
      sync('PATCH', '/1.0/containers/two', { profiles: list });
    for (let round = 0; round < 3; round += 1) {
      await profiles(['default', 'shared', 'other']);
      expect(await reader.read('user.exchanged')).toBe('yes');
      await profiles(['default', 'shared']);
      expect(await reader.read('user.exchanged')).toBe('404');
    }
  });
});
