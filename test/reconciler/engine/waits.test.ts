// How the engine waits for containers, and starts and stops them, against an in-memory server.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { exitCodeOf } from '../../../reconciler/cli/errors/exit-codes.ts';
import type { ExecuteDeps } from '../../../reconciler/engine/execute.ts';
import { FakeWorld } from '../../support/fakes/client.ts';
import { applied, planFor, run, type Run } from '../../support/fakes/engine-run.ts';

describe('waiting', () => {
  const waiting = (condition: string): string =>
    `kind: container\nname: c1\nsource: { type: none }\nprofiles: [default]\nstate: running\nmanage: { wait: [${condition}] }\n`;

  test('A wait for an address ends when the container has one', async () => {
    const world = new FakeWorld();
    let pauses = 0;
    const pause = async (): Promise<void> => {
      if (++pauses === 3) world.addresses.set('c1', '10.0.0.2');
    };
    const { result, events } = await run(world, await planFor(world, waiting('{ ipv4: eth0, timeout: 60s }')), {
      pause,
    });
    expect(result.failures).toEqual([]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'apply_progress',
        text: 'waiting for an IPv4 address on eth0: Running, 3 processes, eth0 up without an address',
      }),
    );
  });

  test('A wait that times out shows the state and has its own exit code', async () => {
    const world = new FakeWorld();
    let nowMs = 0;
    const clock = { nowMs: () => nowMs, pause: async (ms: number) => void (nowMs += ms) };
    const { result } = await run(world, await planFor(world, waiting('{ ipv4: eth0, timeout: 60s }')), clock);
    expect(result.failures[0]).toMatchObject({ code: 'not-ready' });
    expect(result.failures[0]?.why).toBe(
      'an IPv4 address on eth0 did not come in 60 s: Running, 3 processes, eth0 up without an address',
    );
    expect(exitCodeOf(result)).toBe(6);
  });

  const clocked = (): { nowMs: () => number; pause: (ms: number) => Promise<void> } => {
    let nowMs = 0;
    return { nowMs: () => nowMs, pause: async (ms) => void (nowMs += ms) };
  };
  const waited = async (world: FakeWorld, condition: string, deps: Partial<ExecuteDeps> = clocked()): Promise<Run> =>
    run(world, await planFor(world, waiting(condition)), deps);

  test('A wait for a command retries until it succeeds, and shows its last output', async () => {
    const world = new FakeWorld();
    const seen: string[] = [];
    world.command = async (command) => {
      seen.push(command.join(' '));
      return seen.length < 3 ? { code: 3, output: 'one\nnot \u001b[31myet\n' } : { code: 0 };
    };
    const { result, events } = await waited(world, '{ exec: [is, ready] }');
    expect(result.failures).toEqual([]);
    expect(seen).toEqual(['is ready', 'is ready', 'is ready']);
    const text =
      'waiting for the success of is ready: Running, 3 processes, eth0 up without an address; it ended with code 3: not yet';
    expect(events).toContainEqual(expect.objectContaining({ type: 'apply_progress', text }));
  });

  test('A wait for a command that never ends gives it the whole time limit', async () => {
    const world = new FakeWorld();
    world.command = (_command, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
    const { result } = await waited(world, '{ exec: [hang], timeout: 300ms }', {});
    expect(result.failures[0]?.why).toMatch(/^the success of hang did not come in 0.3 s: .*; no answer yet$/);
  });

  test('A wait for a file ends when the file exists', async () => {
    const world = new FakeWorld();
    let pauses = 0;
    const pause = async (): Promise<void> => {
      if (++pauses === 2) world.contents.set('/1.0/containers/c1/files?/run/ready', '');
    };
    expect((await waited(world, '{ file: /run/ready }', { pause })).result.failures).toEqual([]);
    expect(pauses).toBe(2);
  });

  test('A wait for a port connects to the address of the container, or to the configured host', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      const world = new FakeWorld();
      world.addresses.set('c1', '127.0.0.1');
      expect((await waited(world, `{ tcp: ${port} }`)).result.failures).toEqual([]);
      expect((await waited(new FakeWorld(), `{ tcp: "127.0.0.1:${port}" }`)).result.failures).toEqual([]);
    } finally {
      server.close();
    }
    const alone = await waited(new FakeWorld(), `{ tcp: ${port}, timeout: 5s }`);
    expect(alone.result.failures[0]?.why).toContain('it has no address to connect to');
    const closed = await waited(new FakeWorld(), `{ tcp: "127.0.0.1:${port}", timeout: 5s }`);
    expect(closed.result.failures[0]?.why).toMatch(/did not come in 5 s: .*ECONNREFUSED/);
  });

  test.each([
    [{ code: 0, output: 'status: done\n' }, undefined],
    [{ code: 2, output: 'status: done\n' }, undefined],
    [{ code: 1, output: 'status: error\n' }, 'cloud-init failed: status: error: Running'],
    [{ code: 127 }, 'its image has no cloud-init to wait for: Running'],
  ])('A wait for cloud-init, which answers %j, ends at once', async (answer, why) => {
    const world = new FakeWorld();
    const seen: string[] = [];
    world.command = async (command) => {
      seen.push(command.join(' '));
      return answer;
    };
    const { result } = await waited(world, 'cloud_init');
    expect(seen).toEqual(['cloud-init status --wait']);
    if (why === undefined) expect(result.failures).toEqual([]);
    else expect(result.failures[0]?.why).toContain(why);
  });

  test('A wait that times out shows the last lines of console and log, and the leases', async () => {
    const world = new FakeWorld();
    world.contents.set('/1.0/containers/c1/console', '1\r\n2\r\n3\r\n4\r\n5\r\nlast \u0007words\r\n\r\n');
    world.contents.set('/1.0/containers/c1/logs/lxc.log', 'lxc c1 ERROR start\n');
    const lease = { hwaddr: '', type: 'dynamic', location: 'none' };
    world.leases.set('br0', [
      { ...lease, hostname: 'other', address: '10.0.0.3' },
      { ...lease, hostname: 'c1', address: '10.0.0.2' },
    ]);
    const text = `kind: network\nname: br0\n---\n${waiting('{ ipv6: eth0, timeout: 1s }')}devices: { eth0: { type: nic, nictype: bridged, parent: br0 } }\n`;
    const { result } = await run(world, await planFor(world, text), clocked());
    const lines = result.failures[0]?.why.split('\n') ?? [];
    expect(lines[0]).toMatch(/^an IPv6 address on eth0 did not come in 1 s: Running/);
    expect(lines.slice(1)).toEqual([
      '  leases on br0: 10.0.0.2',
      ...['2', '3', '4', '5', 'last  words'].map((line) => `  console: ${line}`),
      '  log: lxc c1 ERROR start',
    ]);
  });

  test('A wait fails at once when the container has stopped by itself', async () => {
    const world = new FakeWorld();
    world.exitsAtStart.add('c1');
    const { result } = await run(world, await planFor(world, waiting('{ ipv4: eth0, timeout: 60s }')));
    expect(result.failures[0]?.why).toBe('it stopped instead of getting ready: Stopped');
  });
});

describe('power', () => {
  const container = (state: string): string =>
    `kind: container\nname: c1\nsource: { type: none }\nprofiles: [default]\nstate: ${state}\n`;

  test('A container that ignores a clean stop is killed after the grace period, and the note says so', async () => {
    const world = await applied(container('running'));
    world.stubborn.add('c1');
    const { events, result } = await run(world, await planFor(world, container('stopped')));
    expect(result.failures).toEqual([]);
    expect(world.changes).toEqual(['stop by force container/c1']);
    expect(events.at(-1)).toMatchObject({
      type: 'apply_complete',
      note: expect.stringMatching(/^killed: no clean stop in/),
    });
  });

  test('A container that is already in the wanted state needs nothing', async () => {
    const world = await applied(container('stopped'));
    const plan = await planFor(world, container('running'));
    Object.assign(world.objects.container.get('c1')!, { status: 'Running', status_code: 103 });
    const { events } = await run(world, plan);
    expect(world.changes).toEqual([]);
    expect(events.at(-1)).toMatchObject({ note: 'it was already running' });
  });
});
