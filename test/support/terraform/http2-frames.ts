// Frames of HTTP/2 (RFC 9113) byte by byte, for tests of clients that break its rules.

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flags = { endStream: 1, endHeaders: 4, padded: 8 } as const;

export const settingNumbers = { initialWindow: 4, maxFrame: 5 } as const;

/** The first bytes that a client sends. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const number32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

export function frame(type: number, flag: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block without compression; names and values are shorter than 127 bytes. */
export const headerBlock = (fields: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.concat([
        Buffer.of(0, name.length),
        Buffer.from(name, 'latin1'),
        Buffer.of(value.length),
        Buffer.from(value, 'latin1'),
      ]),
    ),
  );

/** The error code with which a server has ended the connection or a stream. */
export function errorCode(received: Buffer): number | undefined {
  for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3)) {
    const type = received[at + 3];
    if (type === frameTypes.goAway && at + 17 <= received.length) return received.readUInt32BE(at + 13);
    if (type === frameTypes.reset && at + 13 <= received.length) return received.readUInt32BE(at + 9);
  }
  return undefined;
}
