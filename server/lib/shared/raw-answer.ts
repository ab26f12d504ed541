// A whole HTTP response as text, for a socket without a response to write it.
import { STATUS_CODES } from 'node:http';

/** The last one of its connection. */
export function rawAnswer(status: number, headers: Readonly<Record<string, string>>, body: string): string {
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
