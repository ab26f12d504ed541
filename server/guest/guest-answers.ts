// The endpoints of the guest socket (real-world.md section 18): turns a request of one container into its answer. Sends nothing.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { statusIn, errors, type AppError } from '../api/errors.ts';
import type { Dialect } from '../http/dialects/dialect.ts';
import { exportImage } from '../http/image-export.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { Guest, GuestView } from '../services/containers/guest-view.ts';
import { toAppError } from '../services/shared/translate-errors.ts';

export interface GuestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Readable;
}

export interface GuestAnswerDeps {
  readonly view: GuestView;
  /** Errors of the image endpoint look like those of the main API. */
  readonly dialect: Pick<Dialect, 'error'>;
  readonly log: Log;
}

export async function answerGuest(
  deps: GuestAnswerDeps,
  guest: Guest,
  request: Pick<IncomingMessage, 'method' | 'url'>,
): Promise<GuestAnswer> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { ...text(405, 'only GET is possible here'), headers: { ...plain, allow: 'GET, HEAD' } };
  }
  try {
    return (await exported(deps, guest, path)) ?? found(deps.view, guest, path) ?? text(404, 'not found');
  } catch (error) {
    const known = toAppError(error);
    if (known.code === 'internal') deps.log.debug(`Answering ${guest.name} failed: ${errorText(error)}`);
    return refusal(known);
  }
}

function found(view: GuestView, guest: Guest, path: string): GuestAnswer | undefined {
  switch (path) {
    case '/':
      return json(['/1.0']);
    case '/1.0':
      return json({ api_version: '1.0', instance_type: 'container', location: 'none', state: 'Started' });
    case '/1.0/config':
      return json(Object.keys(view.facts(guest).config).map((key) => `/1.0/config/${encodeURIComponent(key)}`));
    case '/1.0/meta-data':
      return bytes(view.metaData(guest));
    case '/1.0/devices':
      return json(view.facts(guest).devices);
    case '/1.0/events':
      return text(400, 'the events need a websocket upgrade');
    default:
      return path.startsWith('/1.0/config/') ? bytes(view.value(guest, decoded(path.slice(12)))) : undefined;
  }
}

async function exported(deps: GuestAnswerDeps, guest: Guest, path: string): Promise<GuestAnswer | undefined> {
  const fingerprint = /^\/1\.0\/images\/([^/]+)\/export$/.exec(path)?.[1];
  if (fingerprint === undefined) return undefined;
  try {
    const { headers, stream } = await exportImage(await deps.view.image(guest, decoded(fingerprint)), {});
    return { status: 200, headers, body: stream };
  } catch (error) {
    const known = toAppError(error);
    if (known.code === 'internal') throw error;
    const { status, headers, body } = deps.dialect.error(known);
    return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw errors.badRequest('The path is malformed: % must be followed by two hexadecimal digits');
  }
}

const plain = { 'content-type': 'text/plain; charset=utf-8' } as const;
export const text = (status: number, said: string): GuestAnswer => ({ status, headers: plain, body: `${said}\n` });
/** Failures of the host stay on the host: its paths and programs are not for guests. */
export const refusal = (error: AppError): GuestAnswer =>
  text(statusIn('lxd', error.code), error.code === 'internal' ? 'something failed on the host' : error.message);

const bytes = (body: string): GuestAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/octet-stream' },
  body,
});

const json = (value: unknown): GuestAnswer => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: `${JSON.stringify(value)}\n`,
});
