// The messages of LXD's migration protocol on the control channel, as protocol buffers. Their meaning is in offers.ts. Source: real system,
// section 17.
import {
  bytes,
  defineMessage,
  flag,
  integer,
  message,
  optional,
  repeated,
  text,
  type MessageOf,
} from '../../../../lib/shared/protobuf.ts';

const IdMapEntry = defineMessage({
  isuid: optional(flag(1)),
  isgid: optional(flag(2)),
  hostid: optional(integer(3)),
  nsid: optional(integer(4)),
  maprange: optional(integer(5)),
});

const Setting = defineMessage({ key: optional(text(1)), value: optional(text(2)) });

const Device = defineMessage({ name: optional(text(1)), config: repeated(message(2, () => Setting)) });

const Snapshot = defineMessage({
  name: optional(text(1)),
  localConfig: repeated(message(2, () => Setting)),
  profiles: repeated(text(3)),
  ephemeral: optional(flag(4)),
  localDevices: repeated(message(5, () => Device)),
  architecture: optional(integer(6)),
  stateful: optional(flag(7)),
  /** Seconds since 1970, like the next two. */
  creationDate: optional(integer(8)),
  lastUsedDate: optional(integer(9)),
  expiryDate: optional(integer(10)),
});

const RsyncFeatures = defineMessage({
  xattrs: optional(flag(1)),
  delete: optional(flag(2)),
  compress: optional(flag(3)),
  bidirectional: optional(flag(4)),
});

/** Which frames go before the streams of btrfs. */
const BtrfsFeatures = defineMessage({
  migrationHeader: optional(flag(1)),
  headerSubvolumes: optional(flag(2)),
  headerSubvolumeUuids: optional(flag(3)),
});

const Header = defineMessage({
  fs: optional(integer(1)),
  criu: optional(integer(2)),
  idmap: repeated(message(3, () => IdMapEntry)),
  snapshotNames: repeated(text(4)),
  snapshots: repeated(message(5, () => Snapshot)),
  predump: optional(flag(7)),
  rsyncFeatures: optional(message(8, () => RsyncFeatures)),
  refresh: optional(flag(9)),
  btrfsFeatures: optional(message(12, () => BtrfsFeatures)),
});

const Control = defineMessage({ success: optional(flag(1)), message: optional(text(2)) });

/** Extra field in a header from gantryd: its own offer as JSON. LXD skips unknown fields. */
const Envelope = defineMessage({ offer: bytes(1000) });

export type LxdHeader = MessageOf<typeof Header>;
export type LxdSnapshot = LxdHeader['snapshots'][number];
export type LxdSetting = LxdSnapshot['localConfig'][number];

/** The kind of a file transfer; the others (zfs, rbd, block) are never offered. */
export const fsKind = { rsync: 0, btrfs: 1 } as const;

/** `rsync`: live, memory is sent too. `none`: running, and a second pass sends later changes. Absent: stopped. */
export const criu = { rsync: 0, none: 2 } as const;

export type LxdFrame =
  | { readonly kind: 'offer'; readonly json: Buffer }
  | { readonly kind: 'header'; readonly header: LxdHeader }
  | { readonly kind: 'control'; readonly success: boolean; readonly message: string };

/** A header of a thousand snapshots is smaller. A message of empty items needs about a hundred times its size in memory when decoded. */
const maxLxdBytes = 1024 * 1024;

/** Throws ProtobufError, or RangeError for a message that is too large. */
export function decodeLxd(frame: Buffer): LxdFrame {
  const { offer } = Envelope.decode(frame);
  if (offer.length > 0) return { kind: 'offer', json: Buffer.from(offer) };
  if (frame.length > maxLxdBytes) throw new RangeError(`a message of LXD takes at most ${maxLxdBytes} bytes`);
  const { success, message: words } = Control.decode(frame);
  const header = Header.decode(frame);
  const hasMore = header.predump !== undefined || header.rsyncFeatures !== undefined || header.criu !== undefined;
  // Both have a number in field 1. A header has no text in field 2, and always has fields beyond the first.
  const isControl = words !== undefined || (success !== undefined && !hasMore && header.snapshotNames.length === 0);
  return isControl ? { kind: 'control', success: success === true, message: words ?? '' } : { kind: 'header', header };
}

/** `offer`: read by another gantryd. */
export function encodeHeader(header: Parameters<typeof Header.encode>[0], offer?: object): Buffer {
  const encoded = Header.encode(header);
  if (offer === undefined) return encoded;
  return Buffer.concat([encoded, Envelope.encode({ offer: Buffer.from(JSON.stringify(offer)) })]);
}

export const encodeControl = (success: boolean, words = ''): Buffer =>
  Control.encode({ success, ...(success ? {} : { message: words }) });
