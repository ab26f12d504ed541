// Reads issuers, serial numbers and revocation lists (RFC 5280), enough to say which certificates a list contains. Pure.

import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface RevocationList {
  /** DER of the issuer's name, hexadecimal. */
  readonly issuer: string;
  readonly serials: ReadonlySet<string>;
  /** The list is outdated from then on; absent if not stated. */
  readonly nextUpdate?: Date;
}

export interface CertificateNames {
  /** DER of the names, hexadecimal. */
  readonly issuer: string;
  readonly subject: string;
  readonly serial: string;
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** The bytes, tag and length included. */
  readonly whole: Buffer;
}

const tags = { integer: 0x02, utcTime: 0x17, generalizedTime: 0x18, sequence: 0x30, version: 0xa0 } as const;

/** Throws an Error for bytes that are no revocation list. */
export function readRevocationList(der: Uint8Array): RevocationList {
  const fields = elementsOf(first(elementsOf(only(Buffer.from(der)).content)).content);
  const rest = fields[0]?.tag === tags.integer ? fields.slice(1) : fields;
  const [algorithm, issuer, thisUpdate, ...more] = rest;
  if (algorithm?.tag !== tags.sequence || issuer?.tag !== tags.sequence || !isTime(thisUpdate)) throw notAList();
  const next = isTime(more[0]) ? timeOf(more[0]) : undefined;
  const revoked = more.find((element) => element.tag === tags.sequence);
  const entries = revoked === undefined ? [] : elementsOf(revoked.content);
  const serials = new Set(entries.map((entry) => first(elementsOf(entry.content)).content.toString('hex')));
  return { issuer: issuer.whole.toString('hex'), serials, ...withoutUndefined({ nextUpdate: next }) };
}

/** Throws an Error for bytes that are no certificate. */
export function readNames(der: Uint8Array): CertificateNames {
  const fields = elementsOf(first(elementsOf(only(Buffer.from(der)).content)).content);
  const [serial, , issuer, , subject] = fields[0]?.tag === tags.version ? fields.slice(1) : fields;
  if (serial?.tag !== tags.integer || issuer === undefined || subject === undefined) {
    throw new Error('it is not an X.509 certificate');
  }
  return {
    issuer: issuer.whole.toString('hex'),
    subject: subject.whole.toString('hex'),
    serial: serial.content.toString('hex'),
  };
}

const isTime = (element: Element | undefined): element is Element =>
  element?.tag === tags.utcTime || element?.tag === tags.generalizedTime;

/** `261122153000Z` or `20261122153000Z`; a two-digit year means 1950 to 2049. */
function timeOf({ tag, content }: Element): Date | undefined {
  const text = content.toString('latin1');
  const digits = tag === tags.utcTime ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text;
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits) ?? [];
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

const notAList = (): Error => new Error('it is not an X.509 revocation list');

function only(bytes: Buffer): Element {
  const [element, ...more] = elementsOf(bytes);
  if (element?.tag !== tags.sequence || more.length > 0) throw new Error('it is not one DER sequence');
  return element;
}

function first(elements: readonly Element[]): Element {
  const [element] = elements;
  if (element === undefined) throw notAList();
  return element;
}

function elementsOf(bytes: Buffer): Element[] {
  const found: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const [length, head] = lengthAt(bytes, at + 1);
    const end = head + length;
    if (end > bytes.length) throw new Error('its DER is cut off');
    found.push({ tag: bytes[at] ?? 0, content: bytes.subarray(head, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return found;
}

/** The length of the content, and its start. */
function lengthAt(bytes: Buffer, at: number): readonly [length: number, start: number] {
  const short = bytes[at];
  if (short === undefined) throw new Error('its DER is cut off');
  if (short < 0x80) return [short, at + 1];
  const count = short & 0x7f;
  if (count === 0 || count > 4 || at + 1 + count > bytes.length) throw new Error('its DER has an impossible length');
  return [bytes.readUIntBE(at + 1, count), at + 1 + count];
}
