// Ended operations stay readable for some seconds. A busy daemon has a thousand of them, which must hold nothing of their work.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { ChannelSet, type Channel } from '../../../server/operations/channels.ts';
import { Operations } from '../../../server/operations/manager.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const openChannel = (): Channel => ({
  frames: (async function* none() {})(),
  send: () => undefined,
  barrier: () => undefined,
  close: () => {},
  silent: () => new Promise(() => {}),
  gone: Promise.resolve(),
});

/** Runs one command to its end; only weak references to what it used are left. */
async function runOne(operations: Operations) {
  const channels = new ChannelSet(['0']);
  const channel = openChannel();
  const used = { output: Buffer.alloc(1000) };
  const { id } = operations.start({
    class: 'websocket',
    description: 'Executing command',
    resources: {},
    channels,
    run: async () => {
      await channels.connected('0');
      return { return: used.output.length };
    },
  });
  operations.admit(id, channels.secrets['0'] ?? '')(channel);
  await operations.wait(id, undefined);
  return { id, secret: channels.secrets['0'] ?? '', weak: [new WeakRef(channel), new WeakRef(used)] };
}

test('an operation that has ended is readable, and holds neither its connections nor its work', async () => {
  const operations = new Operations({ clock: systemClock(), events: new EventHub(systemClock()), log: silentLog });
  const { id, weak } = await runOne(operations);
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(weak.map((each) => each.deref())).toEqual([undefined, undefined]);
  expect(operations.get(id)).toMatchObject({ status: 'Success', metadata: { return: 1000 } });
  await operations.close(0);
});

test('a connection that comes after the end is closed, and a wrong secret is refused', async () => {
  const operations = new Operations({ clock: systemClock(), events: new EventHub(systemClock()), log: silentLog });
  const channels = new ChannelSet(['0', '1']);
  const { id } = operations.start({ description: 'Executing command', resources: {}, channels, run: async () => {} });
  await operations.wait(id, undefined);
  await new Promise((resolve) => setImmediate(resolve));
  let isClosed = false;
  operations.admit(id, channels.secrets['1'] ?? '')({ ...openChannel(), close: () => (isClosed = true) });
  expect(isClosed).toBe(true);
  expect(() => operations.admit(id, 'x')).toThrow('secret');
  await operations.close(0);
});
