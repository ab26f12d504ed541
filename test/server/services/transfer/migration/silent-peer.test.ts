// The other side of a migration vanishes without a word: its host is down, or the network between.
import { expect, test } from 'vitest';
import { MigrationStep } from '../../../../../server/api/container/migration-messages.ts';
import type { Channel, Frame } from '../../../../../server/operations/channels.ts';
import { encodeHeader } from '../../../../../server/services/transfer/migration/lxd/messages.ts';
import { Peer } from '../../../../../server/services/transfer/migration/peer.ts';

const never = new Promise<never>(() => {});

/** Sends one message, then nothing; `vanish` makes it silent. */
function peerThatSays(first: Buffer) {
  let vanish = (): void => {};
  const silence = new Promise<void>((resolve) => (vanish = resolve));
  let watched = 0;
  const sent: string[] = [];
  const channel = (frames: AsyncIterable<Frame>, taken?: Promise<void>): Channel => ({
    frames,
    send: (bytes) => (sent.push(Buffer.from(bytes).toString()), taken),
    barrier: () => undefined,
    close: () => {},
    silent: () => ((watched += 1), silence),
    gone: never,
  });
  const frames = async function* frames(...all: readonly Frame[]): AsyncGenerator<Frame> {
    yield* all;
    await never;
  };
  const peer = new Peer(
    { control: channel(frames({ kind: 'data', bytes: first })), fs: channel(frames(), never) },
    new AbortController().signal,
  );
  return { peer, sent, vanish: () => vanish(), watched: () => watched };
}

const sentMessage = Buffer.from('{"type":"sent"}');

test('a peer that vanishes while its last answer is awaited ends the migration, and is sent nothing', async () => {
  const { peer, sent, vanish } = peerThatSays(sentMessage);
  await peer.receive(MigrationStep);
  const answer = peer.receive(MigrationStep);
  vanish();
  await expect(answer).rejects.toThrow('does not answer any more: its host or the network is down');
  await peer.fail(await answer.catch((error: unknown) => error));
  expect(sent).toEqual([]);
});

test('a peer that vanishes while files are sent ends the migration', async () => {
  const { peer, vanish } = peerThatSays(sentMessage);
  await peer.receive(MigrationStep);
  const files = async function* files(): AsyncGenerator<Buffer> {
    yield Buffer.from('x');
  };
  const sending = peer.sendStream(files(), () => undefined);
  vanish();
  await expect(sending).rejects.toThrow('does not answer any more');
});

test('a real LXD, which reads no pings while it transfers, is not watched', async () => {
  const { peer, watched } = peerThatSays(encodeHeader({ snapshotNames: [] }));
  expect(await peer.takeHeader()).toBeDefined();
  expect(watched()).toBe(0);
});
