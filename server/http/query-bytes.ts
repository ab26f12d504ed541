// Reads one query parameter as bytes: file names may not be text in any encoding.
import { errors } from '../api/errors.ts';

const percent = 0x25;
const plus = 0x2b;

/** The first value of `name` in the query of a request's URL; undefined if absent. */
export function queryBytes(url: string, name: string): Buffer | undefined {
  const at = url.indexOf('?');
  if (at < 0) return undefined;
  for (const pair of url.slice(at + 1).split('&')) {
    const equals = pair.indexOf('=');
    const key = equals < 0 ? pair : pair.slice(0, equals);
    if (key === name) return decode(equals < 0 ? '' : pair.slice(equals + 1), name);
  }
  return undefined;
}

/** Characters of a request's URL stand for one byte each. */
function decode(text: string, name: string): Buffer {
  const raw = Buffer.from(text, 'latin1');
  const bytes: number[] = [];
  for (let index = 0; index < raw.length; index++) {
    const byte = raw[index] ?? 0;
    if (byte === percent) {
      const digits = raw.toString('latin1', index + 1, index + 3);
      if (!/^[0-9a-fA-F]{2}$/.test(digits))
        throw errors.badRequest(`The query parameter ${name} has a % without two hex digits`);
      bytes.push(Number.parseInt(digits, 16));
      index += 2;
    } else bytes.push(byte === plus ? 0x20 : byte);
  }
  return Buffer.from(bytes);
}
