// Writes the few ASN.1 values of a certificate, in DER. node:crypto reads them.

export type Der = Buffer;

/** Tag, length in the shortest form, content. */
export function tagged(tag: number, ...content: readonly Uint8Array[]): Der {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const hex = body.length.toString(16);
  const length = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

export const sequence = (...items: readonly Uint8Array[]): Der => tagged(0x30, ...items);
export const set = (...items: readonly Uint8Array[]): Der => tagged(0x31, ...items);
export const boolean = (value: boolean): Der => tagged(0x01, Buffer.from([value ? 0xff : 0]));
export const octets = (content: Uint8Array): Der => tagged(0x04, content);
export const utf8 = (text: string): Der => tagged(0x0c, Buffer.from(text, 'utf8'));
export const bits = (content: Uint8Array, unused = 0): Der => tagged(0x03, Buffer.from([unused]), content);
/** [number] around the content, as EXPLICIT tags are. */
export const explicit = (number: number, content: Uint8Array): Der => tagged(0xa0 | number, content);

/** A non-negative number, big-endian. */
export function unsigned(bytes: Uint8Array): Der {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const digits = bytes.subarray(start);
  return tagged(0x02, Buffer.from((digits[0] ?? 0) >= 0x80 ? [0] : []), digits);
}

/** `1.2.840.10045.4.3.3`. */
export function oid(text: string): Der {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes: number[] = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** UTCTime up to 2049, GeneralizedTime from then on (RFC 5280 4.1.2.5); whole seconds. */
export function time(date: Date): Der {
  const digits = `${date.toISOString().slice(0, 19).replaceAll(/[-T:]/g, '')}Z`;
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}
