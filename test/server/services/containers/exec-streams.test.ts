// The end of a command whose output is still on its way to its client.
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { RuntimeProcess } from '../../../../server/drivers/runtime/command.ts';
import type { Channel } from '../../../../server/operations/channels.ts';
import { relayPipes, relayTerminal } from '../../../../server/services/containers/exec/streams.ts';

function start(code: number) {
  const [stdout, stderr] = [Readable.from([]), Readable.from(['not found'])];
  const process = { stdout, stderr, kill: () => {}, exited: Promise.resolve(code) } as unknown as RuntimeProcess;
  const sent: string[] = [];
  let close = (): void => {};
  const gone = new Promise<void>((resolve) => (close = resolve));
  const channel: Channel = {
    frames: (async function* none() {})(),
    send: (bytes) => void sent.push(Buffer.from(bytes).toString()),
    barrier: () => void sent.push('end'),
    close,
    silent: () => new Promise(() => {}),
    gone,
  };
  const relayed = relayPipes(process, [channel, channel, channel], Promise.resolve(channel));
  return { sent, close, relayed };
}

/** Whether it has ended after all that is ready now. */
const isOver = (relayed: Promise<unknown>): Promise<boolean> =>
  Promise.race([relayed.then(() => true), new Promise<boolean>((resolve) => setTimeout(resolve, 100, false))]);

test.each([126, 127])('a command that ends with %i is over once its client has closed its channels', async (code) => {
  const { sent, close, relayed } = start(code);
  expect(await isOver(relayed)).toBe(false);
  expect(sent.toSorted()).toEqual(['end', 'end', 'not found']);
  close();
  expect(await relayed).toBe(code);
});

test('a command that ends with 127 is over soon even if its client closes nothing', async () => {
  expect(await start(127).relayed).toBe(127);
});

test('a command that ends otherwise does not wait for its client', async () => {
  expect(await isOver(start(3).relayed)).toBe(true);
});

test.each([
  ['pipes', relayPipes],
  ['a terminal', relayTerminal],
])('a command with %s is over soon after its client vanished with output on its way', async (_kind, relay) => {
  const never = new Promise<never>(() => {});
  const stuck: Channel = {
    frames: (async function* silent() {
      await never;
      yield* [];
    })(),
    send: () => never,
    barrier: () => never,
    close: () => {},
    silent: () => never,
    gone: never,
  };
  const lost: Channel = { ...stuck, frames: (async function* none() {})() };
  let end: (code: number) => void = () => {};
  const exited = new Promise<number>((resolve) => (end = resolve));
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  stdout.write('first');
  stdout.write('second');
  const process = { stdout, stderr, kill: () => end(137), exited } as unknown as RuntimeProcess;
  expect(await relay(process, [stuck, stuck, stuck], Promise.resolve(lost))).toBe(137);
  expect(stdout.destroyed).toBe(true);
});
