// The messages of LXD's migration protocol: what is read of strange bytes, and what both ends make of an offer.
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ContainerMigrationOffer } from '../../../../../server/api/container/migration-messages.ts';
import {
  decodeLxd,
  encodeControl,
  encodeHeader,
  type LxdHeader,
} from '../../../../../server/services/transfer/migration/lxd/messages.ts';
import {
  answerTo,
  featuresOf,
  headerOf,
  idMapOf,
  isLive,
  isTwice,
  purposeOf,
  offerOf,
  sendsSubvolumes,
} from '../../../../../server/services/transfer/migration/lxd/offers.ts';
import { subvolumesIn } from '../../../../../server/services/transfer/migration/lxd/subvolume-list.ts';
import { PeerError, parseMessage } from '../../../../../server/services/transfer/migration/peer.ts';
import { seededRandom } from '../../../../support/random.ts';

const list = (...subvolumes: object[]): Buffer => Buffer.from(JSON.stringify({ subvolumes }));
const map = JSON.stringify([{ Isuid: true, Isgid: false, Hostid: 1_000_000, Nsid: 0, Maprange: 65_536 }]);
const pool = { config: {} };
const offer: ContainerMigrationOffer = {
  type: 'offer',
  protocol: 'gantry-migration',
  versions: [1],
  release: '1.0.0',
  kind: 'container',
  name: 'web',
  uuid: 'u',
  formats: ['tar'],
  object: { architecture: 'x86_64', profiles: [], ephemeral: false, config: {}, devices: {}, description: '' },
  snapshots: [
    {
      name: 's0',
      createdAt: '2026-01-02T03:04:05Z',
      lastUsedAt: '1970-01-01T00:00:00Z',
      expiresAt: '0001-01-01T00:00:00Z',
      description: '',
      config: { 'user.a': 'b', 'user.empty': '' },
      architecture: 'x86_64',
      profiles: ['default'],
      ephemeral: true,
      devices: { eth0: { type: 'nic', parent: 'br0' } },
      stateful: false,
    },
  ],
};

function headerIn(bytes: Buffer): LxdHeader {
  const frame = decodeLxd(bytes);
  if (frame.kind !== 'header') throw new Error(`it is ${frame.kind}`);
  return frame.header;
}

describe('the header that a real LXD reads', () => {
  test('says all of an offer that LXD knows', () => {
    const header = headerIn(encodeHeader(headerOf(offer, { state: 'running', idMap: map }, pool)));
    expect([isTwice(header), isLive(header), idMapOf(header)]).toEqual([true, false, map]);
    const read = offerOf(header, 'container') as unknown as ContainerMigrationOffer;
    expect(Value.Check(ContainerMigrationOffer, read)).toBe(true);
    const [snapshot] = read.snapshots;
    expect(snapshot).toEqual({
      ...offer.snapshots[0],
      config: { ...offer.snapshots[0]?.config, 'volatile.last_state.idmap': map },
    });
  });
  test('hides the offer of gantryd, which LXD skips', () => {
    const bytes = encodeHeader(headerOf(offer, { state: 'stopped' }, pool), offer);
    expect(parseMessage(bytes)).toEqual(offer);
    expect(headerIn(encodeHeader(headerOf(offer, { state: 'stopped' }, pool))).criu).toBeUndefined();
  });
  test('is not taken for the end, nor the end for it', () => {
    expect(decodeLxd(encodeControl(true))).toEqual({ kind: 'control', success: true, message: '' });
    expect(decodeLxd(encodeControl(false, 'no room'))).toMatchObject({ kind: 'control', message: 'no room' });
    expect(decodeLxd(encodeControl(false))).toMatchObject({ kind: 'control', success: false });
    const bare = encodeHeader(headerOf({ ...offer, snapshots: [] }, { state: 'stopped' }, pool));
    expect(decodeLxd(bare).kind).toBe('header');
  });
  test('stands for the features of its time where a peer negotiates nothing', () => {
    const header = headerIn(encodeHeader({ fs: 0, predump: false, snapshotNames: ['a'] }));
    expect(featuresOf(header)).toEqual(['xattrs', 'delete', 'compress']);
    expect(offerOf(header, 'volume')).toMatchObject({ snapshots: [{ name: 'a', createdAt: '1970-01-01T00:00:00Z' }] });
    const part = { xattrs: true, delete: false, compress: undefined, bidirectional: true };
    expect(featuresOf({ ...header, rsyncFeatures: part })).toEqual(['xattrs']);
  });
  test('packs what rsync sends unless rsync.compression of a pool on either side is false', () => {
    const plain = { config: { 'rsync.compression': 'false' } };
    const [packed, unpacked] = [pool, plain].map((at) =>
      headerIn(encodeHeader(headerOf(offer, { state: 'stopped' }, at))),
    );
    if (packed === undefined || unpacked === undefined) throw new Error('no headers');
    expect(featuresOf(unpacked)).toEqual(['xattrs', 'delete']);
    expect(featuresOf(answerTo(packed, [], 'copy', pool))).toEqual(['xattrs', 'delete', 'compress']);
    expect(featuresOf(answerTo(packed, [], 'copy', plain))).toEqual(['xattrs', 'delete']);
    expect(featuresOf(answerTo(unpacked, [], 'copy', pool))).toEqual(['xattrs', 'delete']);
  });
  test('is answered with the snapshots that are wanted', () => {
    const header = headerIn(encodeHeader(headerOf(offer, { state: 'running' }, pool)));
    expect(answerTo(header, [], 'refresh', pool)).toMatchObject({
      refresh: true,
      snapshotNames: [],
      snapshots: [],
      criu: 2,
    });
    expect(answerTo(header, ['s0'], 'copy', pool).snapshots).toHaveLength(1);
  });
});

describe('the header between pools of btrfs', () => {
  const able = { config: {}, hasSubvolumes: true };
  const offered = headerIn(encodeHeader(headerOf(offer, { state: 'stopped' }, able)));
  test('offers streams of subvolumes, and rsync for a target without btrfs', () => {
    expect(offered).toMatchObject({
      fs: 1,
      btrfsFeatures: { headerSubvolumes: true },
      rsyncFeatures: { xattrs: true },
    });
    expect(sendsSubvolumes(answerTo(offered, [], 'copy', able))).toBe(true);
    expect(answerTo(offered, [], 'copy', pool)).toMatchObject({ fs: 0, btrfsFeatures: undefined });
  });
  test('asks for rsync in a refresh, and from a peer that sends no list of subvolumes', () => {
    expect(answerTo(offered, [], 'refresh', able).fs).toBe(0);
    const older = { ...offered, btrfsFeatures: undefined };
    expect(answerTo(older, [], 'copy', able).fs).toBe(0);
  });
  test('asks for rsync when a running container moves, since LXD sends what it writes meanwhile only so', () => {
    const running = headerIn(encodeHeader(headerOf(offer, { state: 'running' }, able)));
    expect(answerTo(running, [], 'move', able)).toMatchObject({ fs: 0, criu: 2 });
    expect(answerTo(running, [], 'copy', able).fs).toBe(1);
    expect(answerTo(offered, [], 'move', able).fs).toBe(1);
    expect(purposeOf({ 'volatile.idmap.next': '[]', 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' })).toBe('move');
    expect(purposeOf({ 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' })).toBe('copy');
  });
});

describe('a list of subvolumes', () => {
  const own = { path: '/', snapshot: '', readonly: false, uuid: 'u' };
  const old = { ...own, snapshot: 's0', readonly: true };
  const inner = { ...own, path: '/rootfs/inner', readonly: true };
  test('says what is in each snapshot, and then in the volume', () => {
    expect(subvolumesIn(list(old, own, inner), ['s0'])).toEqual([
      [{ path: '/', isReadonly: true }],
      [
        { path: '/', isReadonly: false },
        { path: '/rootfs/inner', isReadonly: true },
      ],
    ]);
  });
  test.each([
    ['a path out of the volume', list(own, { ...inner, path: '/../x' })],
    ['a path with an empty part', list(own, { ...inner, path: '//x' })],
    ['a path without a slash', list(own, { ...inner, path: 'x' })],
    ['a path with a zero byte', list(own, { ...inner, path: '/a\0b' })],
    ['one path twice', list(own, inner, inner)],
    ['what is inside before the volume', list(inner, own)],
    ['no volume', list()],
    ['a snapshot that was not offered', list(own, { ...old, snapshot: 'other' })],
    ['an entry of another shape', list({ path: 1 })],
    ['no JSON', Buffer.from('{')],
    ['more than ten thousand', list(...Array.from({ length: 10_001 }, () => own))],
  ])('with %s is refused', (_what, frame) => {
    expect(() => subvolumesIn(frame, [])).toThrow(/the list of btrfs subvolumes cannot be used/);
  });
});

describe('strange bytes on the control channel', () => {
  test('are refused with words', () => {
    for (const bytes of [Buffer.from([0x0a, 0xff]), Buffer.from([0x0f]), Buffer.from([8, 0x80])])
      expect(() => parseMessage(bytes)).toThrow(/speaks neither gantry-migration nor the protocol of a real LXD/);
    const inside = encodeHeader({ fs: 0 }, { type: 'header of LXD' });
    expect(() => parseMessage(inside)).toThrow(PeerError);
    expect(() => parseMessage(Buffer.from('{"type":"header of LXD","header":{}}'))).toThrow(PeerError);
  });
  test('cannot make a small message cost much', () => {
    const empty = Buffer.alloc(1024 * 1024 - 2, Buffer.from([0x2a, 0]));
    const start = Date.now();
    const header = headerIn(Buffer.concat([empty.subarray(0, empty.length - 2), Buffer.from([0x38, 0])]));
    expect(header.snapshots.length).toBeGreaterThan(500_000);
    expect(Date.now() - start).toBeLessThan(10_000);
    expect(() => decodeLxd(Buffer.alloc(2 * 1024 * 1024, Buffer.from([0x2a, 0])))).toThrow(RangeError);
  });
  test('never end in anything but a message or a PeerError', () => {
    const random = seededRandom(7);
    const good = encodeHeader(headerOf(offer, { state: 'running', idMap: map }, pool), offer);
    for (let round = 0; round < 3_000; round += 1) {
      const bytes = Buffer.from(good.subarray(0, 1 + Math.floor(random.next() * good.length)));
      for (let change = 0; change < 4; change += 1)
        bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
      try {
        expect(parseMessage(bytes)).toHaveProperty('type');
      } catch (error) {
        expect(error).toBeInstanceOf(PeerError);
      }
    }
  });

  test.each([0, undefined])('a snapshot with the expiry %s never expires', (expiryDate) => {
    const header = headerOf(offer, { state: 'stopped', idMap: map }, pool);
    const snapshots = header.snapshots.map((one) => ({ ...one, expiryDate }));
    expect(offerOf({ ...header, snapshots }, 'volume')['snapshots']).toMatchObject([
      { expiresAt: '0001-01-01T00:00:00Z' },
    ]);
  });
});
