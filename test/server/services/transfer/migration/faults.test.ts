// Failures between two servers: wrong requests, secrets and certificates, peers that lie, leave, stall or are stopped, full disks. Each
// time the source is unchanged and the target has no leftovers.
import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Operation } from '../../../../../server/api/operation.ts';
import { copyContainer } from '../../../../../server/client/index.ts';
import { ChannelSet, type Channel } from '../../../../../server/operations/channels.ts';
import { meet } from '../../../../../server/services/transfer/migration/connect.ts';
import { parseMessage } from '../../../../../server/services/transfer/migration/peer.ts';
import { openChannel, type TestChannel } from '../../../../support/daemons/channels.ts';
import { createContainer, type Answer } from '../../../../support/daemons/daemon.ts';
import {
  describeTree,
  twoDaemons,
  volumeDir,
  type Side,
  type TwoDaemons,
} from '../../../../support/daemons/two-daemons.ts';
import { until } from '../../../../support/until.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

let two: TwoDaemons;
beforeAll(async () => (two = await twoDaemons()));
afterAll(() => two.cleanUp());

let count = 0;
const fresh = (): string => `c${(count += 1)}`;

const list = (path: string): string[] => (existsSync(path) ? readdirSync(path).toSorted() : []);
const poolDir = ({ daemon }: Side, ...rest: string[]): string => join(daemon.dir, 'storage-pools/default', ...rest);

/** Every directory of the pool belongs to an existing container, and no saga is in progress. */
async function expectNothing(side: Side, name: string): Promise<void> {
  expect((await side.daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  expect(list(poolDir(side, 'containers'))).not.toContain(name);
  expect(list(poolDir(side, 'containers-snapshots'))).not.toContain(name);
  await until(() => list(poolDir(side, 'tmp')).length === 0);
}

async function filled(name: string, bytes = 2_000_000): Promise<string> {
  await createContainer(two.a.daemon, name);
  writeFileSync(join(volumeDir(two.a, name), 'rootfs/random'), randomBytes(bytes));
  await two.a.daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
  return describeTree(volumeDir(two.a, name));
}

const startSource = (name: string, more: object = {}): Promise<Answer> =>
  two.a.daemon.call('POST', `/1.0/containers/${name}`, { migration: true, live: false, ...more });
const startTarget = (name: string, source: object): Promise<Answer> =>
  two.b.daemon.call('POST', '/1.0/containers', { name, source: { type: 'migration', ...source } });
const operationUrl = (answer: Answer): string => `https://${two.a.address}${answer.body.operation}`;

describe('an invalid request', () => {
  test.each([
    ['no operation', { operation: undefined }, /source\.operation/],
    ['another scheme', { operation: 'http://x/1.0/operations/1' }, /source\.operation/],
    ['another path', { operation: 'https://x:1/1.0/containers/y' }, /source\.operation/],
    ['an invalid certificate', { certificate: 'me' }, /source\.certificate/],
    ['no secrets', { secrets: undefined }, /secrets\.control.*secrets\.fs/],
  ])('%s is reported at once', async (_what, wrong, text) => {
    const right = {
      mode: 'pull',
      operation: 'https://127.0.0.1:1/1.0/operations/x',
      secrets: { control: 'a', fs: 'b' },
    };
    const answer = await startTarget('bad', { ...right, ...wrong });
    expect([answer.status, answer.metadata.message]).toEqual([400, expect.stringMatching(text)]);
  });

  test('objects missing at the target are named: profiles, pools, unmanaged networks', async () => {
    const wrong = async (body: object): Promise<unknown> => {
      const answer = await two.b.daemon.call('POST', '/1.0/containers', {
        name: 'bad',
        source: { type: 'migration', mode: 'push' },
        ...body,
      });
      return [answer.status, answer.metadata.message];
    };
    expect(await wrong({ profiles: ['web'] })).toEqual([400, expect.stringContaining('no profile web')]);
    const root = { type: 'disk', path: '/', pool: 'fast' };
    expect(await wrong({ profiles: [], devices: { root } })).toEqual([
      400,
      expect.stringContaining('no storage pool fast'),
    ]);
    expect(await wrong({ config: { 'limits.memory': 'much' } })).toEqual([
      400,
      expect.stringContaining('limits.memory'),
    ]);
    expect(await wrong({ architecture: 'z80' })).toEqual([400, expect.stringContaining('z80')]);
  });

  test('a running container needs live: false, and its files are then copied as they are', async () => {
    const name = fresh();
    await filled(name);
    await two.a.daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    const take = two.a.daemon.sim.faults.refuseCheckpoints('CRIU is not installed');
    for (const more of [{ live: true }, { live: undefined }]) {
      const answer = await startSource(name, more);
      expect([answer.status, answer.metadata.message]).toEqual([400, expect.stringContaining('live: false')]);
    }
    take();
    await copyContainer({ client: two.a.remote, name }, { client: two.b.remote, name }, { live: false });
    expect(existsSync(join(volumeDir(two.b, name), 'rootfs/random'))).toBe(true);
    await two.a.daemon.ok('PUT', `/1.0/containers/${name}/state`, { action: 'stop', force: true });
  });
});

describe('a peer that connects', () => {
  test('a peer that connects with a wrong secret is refused, and the source keeps waiting for the right one', async () => {
    const name = fresh();
    const before = await filled(name);
    const source = await startSource(name);
    const secrets = source.metadata.metadata as Record<string, string>;
    const wrong = { ...secrets, fs: 'f'.repeat(64) };
    const pull = { mode: 'pull', operation: operationUrl(source), certificate: two.a.certificate };
    const target = await startTarget(name, { ...pull, secrets: wrong });
    const ended = await two.b.daemon.wait(target.body.operation as string);
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringMatching(/403: .*secret/)]);
    await expectNothing(two.b, name);
    expect(describeTree(volumeDir(two.a, name))).toBe(before);
    const waiting = (await two.a.daemon.call('GET', source.body.operation as string)).metadata as Operation;
    expect(waiting.status).toBe('Running');
    await two.a.daemon.call('DELETE', source.body.operation as string);
    expect((await two.a.daemon.wait(source.body.operation as string)).status).toBe('Cancelled');
  });

  test.each([
    ['another certificate than the one given', () => ({ certificate: two.certificate.certPem }), /fingerprint/],
    ['a certificate that no authority signed', () => ({}), /self-signed|unable to verify|certificate/i],
    ['a closed port', () => ({ operation: 'https://127.0.0.1:1/1.0/operations/x' }), /ECONNREFUSED|refused/],
    [
      'no such operation',
      () => ({ operation: `https://${two.a.address}/1.0/operations/none`, certificate: two.a.certificate }),
      /404/,
    ],
  ])('to %s times out with the reason', async (_what, wrong, text) => {
    const name = fresh();
    const pull = {
      mode: 'pull',
      operation: `https://${two.a.address}/1.0/operations/x`,
      secrets: { control: 'a', fs: 'b' },
    };
    const target = await startTarget(name, { ...pull, ...wrong() });
    const ended = await two.b.daemon.wait(target.body.operation as string);
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringMatching(text)]);
    await expectNothing(two.b, name);
  });

  test('too late finds the operation timed out', async () => {
    const channels = new ChannelSet(['control', 'fs']);
    const dial = (): Promise<Channel> => Promise.reject(new Error('not asked for'));
    const meeting = { how: 'wait', channels, names: ['control', 'fs'] } as const;
    const late = meet({ dial, connectTimeoutMs: 1 }, meeting, new AbortController().signal);
    await expect(late).rejects.toThrow('did not connect to all of the channels control, fs in 1 ms');
  });
});

describe('a misbehaving source', () => {
  const container = {
    architecture: 'x86_64',
    profiles: ['default'],
    ephemeral: false,
    config: {},
    devices: {},
    description: '',
  };
  const snapshot = {
    ...container,
    name: 's',
    stateful: false,
    createdAt: '2030-01-01T00:00:00Z',
    lastUsedAt: '2030-01-01T00:00:00Z',
    expiresAt: '2030-01-01T00:00:00Z',
  };
  const offer = {
    type: 'offer',
    protocol: 'gantry-migration',
    versions: [1],
    release: 'x',
    kind: 'container',
    name: 'c',
    uuid: 'u',
    formats: ['tar'],
    object: container,
    snapshots: [],
  };
  interface Met {
    readonly control: TestChannel;
    readonly fs: TestChannel;
    readonly ended: Promise<Operation>;
  }
  const met = async (name: string): Promise<Met> => {
    const target = await startTarget(name, { mode: 'push' });
    const operation = target.body.operation as string;
    const secrets = target.metadata.metadata as Record<string, string>;
    const [control, fs] = [
      await openChannel(two.b.daemon, operation, secrets['control'] ?? ''),
      await openChannel(two.b.daemon, operation, secrets['fs'] ?? ''),
    ];
    return { control, fs, ended: two.b.daemon.wait(operation) };
  };
  const say = ({ control }: Met, message: object): void => control.send(JSON.stringify(message));

  test.each([
    ['uses a protocol of its own', Buffer.from([0x0a, 0xff]), /speaks neither gantry-migration nor/],
    ['is a real LXD that sends its memory too', Buffer.from([8, 0, 16, 0, 56, 0]), /copy it with --stateless/],
    ['is a real LXD that gives up', Buffer.from('\b\0\x12\x0ethe disk broke', 'latin1'), /the disk broke/],
    ['uses an unknown version', { ...offer, versions: [7] }, /version 7/],
    ['offers a volume', { ...offer, kind: 'volume' }, /not expected/],
    [
      'offers a snapshot whose name leads elsewhere',
      { ...offer, snapshots: [{ ...snapshot, name: '../../x' }] },
      /Invalid snapshot name/,
    ],
    ['offers one snapshot twice', { ...offer, snapshots: [snapshot, snapshot] }, /two snapshots of one name/],
    ['sends files in an unknown way', { ...offer, formats: ['zfs'] }, /sends files as zfs/],
    ['has a profile that is not here', { ...offer, object: { ...container, profiles: ['web'] } }, /no profile web/],
    ['reports a failure', { type: 'error', message: 'the disk broke' }, /the other side failed: the disk broke/],
  ])('%s', async (_what, message, text) => {
    const name = fresh();
    const peer = await met(name);
    if (Buffer.isBuffer(message)) peer.control.send(message);
    else say(peer, message);
    const ended = await peer.ended;
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringMatching(text)]);
    await expectNothing(two.b, name);
    // The peer gets the error too, unless it sent it, and in its own protocol.
    const words = ended.err.includes('--stateless') ? '--stateless' : '"type":"error"';
    if (!ended.err.includes('the disk broke')) expect(peer.control.data()).toContain(words);
  });

  test.each([
    [
      'leaves in the middle of a stream',
      (peer: Met) => [peer.fs, peer.control].map((one) => one.socket.terminate()),
      /broke|closed the connection/,
    ],
    ['ends a stream too early', (peer: Met) => peer.fs.barrier(), /cut off|end mark/],
    ['reports the end too early', (peer: Met) => [peer.control.socket.terminate()], /broke|closed the connection/],
  ])('%s', async (_what, act, text) => {
    const name = fresh();
    const peer = await met(name);
    say(peer, { ...offer, snapshots: [snapshot] });
    await until(() => peer.control.data().includes('"answer"'));
    peer.fs.send(randomBytes(0));
    peer.fs.send(Buffer.alloc(512, 'x'));
    act(peer);
    const ended = await peer.ended;
    expect(ended.status).toBe('Failure');
    expect(ended.err).toMatch(new RegExp(`${text.source}|tar`));
    await expectNothing(two.b, name);
  });

  test('is disconnected after a time limit', async () => {
    const name = fresh();
    const peer = await met(name);
    for (let message = 0; message < 40; message += 1) say(peer, offer);
    const ended = await peer.ended;
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringContaining('reads no answer')]);
    await expectNothing(two.b, name);
  });

  test('is disconnected after a message above the limit', () => {
    expect(() => parseMessage(Buffer.alloc(9 * 1024 * 1024, ' '))).toThrow('a message of');
    expect(() => parseMessage(Buffer.from('{"type":"offer","a":{"__proto__":1}}'))).toThrow('does not speak');
    expect(() => parseMessage(Buffer.from('{}'))).toThrow('without a type');
  });
});

describe('during a transfer', () => {
  /** A transfer that would take a minute. */
  const slow = async (name: string): Promise<{ source: Operation; target: Operation; copied: Promise<unknown> }> => {
    await two.a.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'rsync.bwlimit': '30kB' } });
    const source = await startSource(name);
    const target = await startTarget(name, {
      mode: 'pull',
      operation: operationUrl(source),
      certificate: two.a.certificate,
      secrets: source.metadata.metadata,
    });
    const [a, b] = [source.body.operation as string, target.body.operation as string];
    const copied = Promise.all([two.a.daemon.wait(a), two.b.daemon.wait(b)]);
    await until(async () => JSON.stringify((await two.b.daemon.get(b)).metadata).includes('kB ('));
    return { source: source.metadata, target: target.metadata, copied };
  };

  test.each(['source', 'target'] as const)(
    'cancelling the %s ends both operations, and leaves nothing behind',
    async (side) => {
      const name = fresh();
      const before = await filled(name);
      const under = await slow(name);
      const [daemon, operation] = side === 'source' ? [two.a.daemon, under.source] : [two.b.daemon, under.target];
      expect((await daemon.call('DELETE', `/1.0/operations/${operation.id}`)).status).toBeLessThan(300);
      const ends = (await under.copied) as Operation[];
      const [cancelled, other] = side === 'source' ? ends : ends.toReversed();
      expect(cancelled?.status).toBe('Cancelled');
      expect([other?.status, other?.err]).toEqual(['Failure', expect.stringContaining('cancelled by request')]);
      await expectNothing(two.b, name);
      expect(describeTree(volumeDir(two.a, name))).toBe(before);
      // The source can be used again.
      await two.a.daemon.call('PATCH', '/1.0/storage-pools/default', { config: { 'rsync.bwlimit': '0' } });
      await copyContainer({ client: two.a.remote, name }, { client: two.b.remote, name });
    },
  );
});

describe('a target that takes no more of the files', () => {
  /** Stops to read when the files come: more than all buffers can hold. */
  const stalled = async (name: string): Promise<{ control: TestChannel; fs: TestChannel; operation: string }> => {
    await filled(name, 20_000_000);
    const source = await startSource(name);
    const operation = source.body.operation as string;
    const secrets = source.metadata.metadata as Record<string, string>;
    const control = await openChannel(two.a.daemon, operation, secrets['control'] ?? '');
    const fs = await openChannel(two.a.daemon, operation, secrets['fs'] ?? '');
    onTestFinished(() => [control, fs].forEach(({ socket }) => socket.terminate()));
    control.send(JSON.stringify({ type: 'answer', version: 1, format: 'tar', parts: [{}] }));
    await until(() => fs.frames.length > 0);
    fs.socket.pause();
    return { control, fs, operation };
  };

  test('does not delay the end of a source that is cancelled', async () => {
    const { operation } = await stalled(fresh());
    expect((await two.a.daemon.call('DELETE', operation)).status).toBeLessThan(300);
    expect((await two.a.daemon.wait(operation)).status).toBe('Cancelled');
  });

  test('and whose other connection ended, as that of a host that vanished does, ends the source', async () => {
    const { control, operation } = await stalled(fresh());
    control.socket.terminate();
    const ended = await two.a.daemon.wait(operation);
    expect([ended.status, ended.err]).toEqual(['Failure', expect.stringContaining('closed the connection')]);
  });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a full disk at the target needs root to mount a small one');
test.skipIf(!isRoot)('a full disk at the target leaves nothing there, and both operations report it', async () => {
  const name = fresh();
  const before = await filled(name, 6_000_000);
  const small = tempFolder('gtya-small-');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'gantry-test', small]);
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', small]);
    rmdirSync(small);
  });
  const pool = { name: 'small', driver: 'dir', config: { source: small } };
  expect((await two.b.daemon.call('POST', '/1.0/storage-pools', pool)).status).toBe(200);
  const copied = copyContainer({ client: two.a.remote, name }, { client: two.b.remote, name }, { storage: 'small' });
  await expect(copied).rejects.toThrow(/no space/i);
  expect((await two.b.daemon.call('GET', `/1.0/containers/${name}`)).status).toBe(404);
  for (const folder of ['containers', 'containers-snapshots', 'tmp'])
    await until(() => list(join(small, folder)).length === 0);
  expect((await two.b.daemon.call('DELETE', '/1.0/storage-pools/small')).status).toBe(200);
  expect(describeTree(volumeDir(two.a, name))).toBe(before);
});
