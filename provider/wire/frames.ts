// The frames of HTTP/2 (RFC 9113): their numbers, and the pieces they are written in. Keeps no state.

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** One bit has two names: what ends a stream acknowledges a setting or a ping. */
export const flags = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const errorCodes = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  compression: 9,
  calm: 11,
} as const;

export const settingNumbers = { maxStreams: 3, initialWindow: 4, maxFrame: 5, maxHeaderList: 6 } as const;

export const frameHeadBytes = 9;
/** Both sides take as much from the start, and we never allow more. */
export const defaultMaxFrame = 16_384;
export const largestMaxFrame = 2 ** 24 - 1;
export const defaultWindow = 65_535;
export const largestWindow = 2 ** 31 - 1;

/** What a client says first. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** Returns the position after it. */
export function writeFrameHead(
  into: Buffer,
  at: number,
  length: number,
  type: number,
  flag: number,
  stream: number,
): number {
  into[at] = length >>> 16;
  into[at + 1] = length >>> 8;
  into[at + 2] = length;
  into[at + 3] = type;
  into[at + 4] = flag;
  into.writeUInt32BE(stream, at + 5);
  return at + frameHeadBytes;
}

export function frame(type: number, flag: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  bytes.set(payload, writeFrameHead(bytes, 0, payload.length, type, flag, stream));
  return bytes;
}

const number32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

export const windowUpdate = (stream: number, bytes: number): Buffer =>
  frame(frameTypes.windowUpdate, 0, stream, number32(bytes));

export const reset = (stream: number, code: number): Buffer => frame(frameTypes.reset, 0, stream, number32(code));

export const goAway = (lastStream: number, code: number, why: string): Buffer =>
  frame(frameTypes.goAway, 0, 0, Buffer.concat([number32(lastStream), number32(code), Buffer.from(why)]));

export function settingsFrame(settings: readonly (readonly [number: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  settings.forEach(([number, value], index) => {
    payload.writeUInt16BE(number, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return frame(frameTypes.settings, 0, 0, payload);
}
