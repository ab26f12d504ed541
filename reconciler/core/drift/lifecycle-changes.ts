// Lifecycle events: the object that changed, the action, the time and the user. Servers write them in two forms. Pure.
import { addressOf, addressParts, type Address, type Json, type JsonObject } from '../documents/document.ts';
import { isMap, mapOf, textOf } from '../documents/json-values.ts';
import { addressOfUrl } from '../live/object-urls.ts';
import { printable } from '../text/terminal-text.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface LifecycleChange {
  readonly address: Address;
  /** `container-updated`. */
  readonly action: string;
  /** RFC 3339, by the server's clock. */
  readonly at: string;
  /** `certificate laptop (1f2e3d4c5b6a) from 192.0.2.7`, the name when it is known; absent: the server does not report it. */
  readonly by?: string;
  /** Fingerprint of the client's certificate. */
  readonly certificate?: string;
}

/** By fingerprint. */
export type CertificateNames = ReadonlyMap<string, string>;

/** Actions that change no declarable value, such as reading files and running commands. */
const telling = /-(created|updated|deleted|renamed|restored|started|stopped|shutdown|paused|resumed|restarted)$/;
const aside = /^(operation|warning|token|.*-(backup|log)s?)-/;
const fileWork = /-file-(pushed|deleted)$/;

/** `base`: the project of the connection. Undefined for events that cannot be drift. */
export function seenIn(metadata: unknown, at: string, base = 'default'): readonly LifecycleChange[] {
  const event = metadata as Json;
  if (!isMap(event)) return [];
  const action = textOf(event['action']) ?? '';
  if ((!telling.test(action) && !fileWork.test(action)) || aside.test(action)) return [];
  const address = addressOfUrl(textOf(event['source']) ?? '', base, base);
  if (address === undefined) return [];
  const one: LifecycleChange = { address, action, at, ...whoIn(event['requestor']) };
  const other = otherName(mapOf(event['context']), address);
  return other === undefined ? [one] : [one, { ...one, address: other }];
}

/** A rename changes both names. */
function otherName(context: JsonObject, address: Address): Address | undefined {
  const name = textOf(context['new_name']) ?? textOf(context['old_name']);
  return name === undefined || name.includes('/') ? undefined : addressOf(addressParts(address).kind, name);
}

const fingerprint = /^[0-9a-f]{64}$/;

/** `certificate laptop (1f2e3d4c5b6a)`; without a name `certificate 1f2e3d4c5b6a`. Any other user keeps the name that the server reports. */
export function userText(user: string, names?: CertificateNames): string {
  if (!fingerprint.test(user)) return user;
  // On one line: any trusted client may have chosen the name.
  const name = (names?.get(user) ?? '').replaceAll(/\s+/g, ' ').trim();
  return name === '' ? anonymous(user) : `certificate ${name} (${user.slice(0, 12)})`;
}

const anonymous = (user: string): string => `certificate ${user.slice(0, 12)}`;

/** Adds the name of the certificate where `names` knows it and the text does not. */
export function nameSeen(one: LifecycleChange, names: CertificateNames): LifecycleChange {
  const { by, certificate } = one;
  if (by === undefined || certificate === undefined) return one;
  const before = anonymous(certificate);
  return by.startsWith(before) ? { ...one, by: `${userText(certificate, names)}${by.slice(before.length)}` } : one;
}

function whoIn(value: Json | undefined): Pick<LifecycleChange, 'by' | 'certificate'> {
  if (!isMap(value)) return {};
  const [name = '', protocol, address = ''] = ['username', 'protocol', 'address'].map(
    (key) => textOf(value[key]) ?? '',
  );
  if (protocol === 'unix') return { by: `${name === '' ? 'somebody' : name} on the server itself` };
  if (protocol === 'internal') return { by: 'the server itself' };
  const who = userText(name);
  const place = address.replace(/^\[?(.*?)\]?:\d+$/, '$1');
  const from = place === '' || place === '@' ? '' : ` from ${place}`;
  if (who === '' && from === '') return {};
  return { by: `${who === '' ? 'somebody' : who}${from}`, ...(fingerprint.test(name) ? { certificate: name } : {}) };
}

/** `container-updated by certificate laptop (1f2e3d4c5b6a) from 192.0.2.7 at 2026-11-21T08:31:02Z`. */
export const describeSeen = ({ action, by, at }: LifecycleChange): string =>
  printable(`${action}${by === undefined ? '' : ` by ${by}`} at ${at.replace(/\.\d+/, '')}`);

export const seenJson = ({ action, by, at }: LifecycleChange): JsonObject => ({
  action,
  at,
  ...withoutUndefined({ by }),
});
