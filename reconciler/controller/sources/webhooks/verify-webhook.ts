// Verifies that a webhook's sender knows the secret of the source. Never parses bodies: a valid request means `check now`. Pure.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { assertNever } from '../../../../server/lib/shared/assert-never.ts';
import type { WebhookSettings } from '../source-schema.ts';

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookRequest {
  readonly provider: WebhookSettings['provider'];
  readonly secret: string;
  /** Names in lower case. */
  readonly headers: Headers;
  readonly body: Buffer;
  readonly nowMs: number;
}

/** `mark`: identifies a repeated request. `isTest`: the provider only tests the address. */
export type Verdict =
  | { readonly isValid: true; readonly mark: string; readonly isTest: boolean }
  | { readonly isValid: false; readonly why: string };

/** How old a request with a time may be, and how far in the future. */
export const maxAgeMs = 5 * 60_000;

export function verifyWebhook(request: WebhookRequest): Verdict {
  switch (request.provider) {
    case 'github':
      return bySignature(
        request,
        'x-hub-signature-256',
        'sha256=',
        request.body,
        header(request, 'x-github-event') === 'ping',
      );
    case 'gitea':
      return bySignature(request, 'x-gitea-signature', '', request.body, false);
    case 'gitlab':
      return byToken(request);
    case 'hmac':
      return byTimedSignature(request);
    default:
      return assertNever(request.provider);
  }
}

/** The value of `X-Gantry-Signature-256`, which also signs notifications. */
export const timedSignature = (secret: string, timestamp: string, body: string | Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;

function bySignature(
  { secret, headers, body }: WebhookRequest,
  name: string,
  prefix: string,
  signed: Buffer,
  isTest: boolean,
): Verdict {
  const given = one(headers[name]);
  if (given === undefined) return no(`the header ${name} is missing`);
  const wanted = `${prefix}${createHmac('sha256', secret).update(signed).digest('hex')}`;
  return isEqual(given, wanted) ? yes(body, isTest) : no(`the signature in ${name} is not valid`);
}

function byToken({ secret, headers, body }: WebhookRequest): Verdict {
  const given = one(headers['x-gitlab-token']);
  if (given === undefined) return no('the header x-gitlab-token is missing');
  if (!isEqual(given, secret)) return no('the token in x-gitlab-token is not valid');
  // A branch that goes back and forth has the same body each time; only the number of the event differs.
  return yes(Buffer.concat([Buffer.from(one(headers['x-gitlab-event-uuid']) ?? ''), body]), false);
}

function byTimedSignature(request: WebhookRequest): Verdict {
  const timestamp = header(request, 'x-gantry-timestamp');
  const given = header(request, 'x-gantry-signature-256');
  if (timestamp === undefined || given === undefined)
    return no('the headers x-gantry-timestamp and x-gantry-signature-256 are needed');
  // Checks the signature first, so that a forger learns nothing about the clock.
  if (!isEqual(given, timedSignature(request.secret, timestamp, request.body)))
    return no('the signature in x-gantry-signature-256 is not valid');
  const ageMs = request.nowMs - Number(timestamp) * 1000;
  const isNow = /^[0-9]{1,12}$/.test(timestamp) && Math.abs(ageMs) <= maxAgeMs;
  if (!isNow)
    return no('x-gantry-timestamp is more than 5 minutes away from the clock here; send the current time in seconds');
  return yes(Buffer.concat([Buffer.from(`${timestamp}.`), request.body]), false);
}

const yes = (marked: Buffer, isTest: boolean): Verdict => ({
  isValid: true,
  mark: createHash('sha256').update(marked).digest('base64url'),
  isTest,
});
const no = (why: string): Verdict => ({ isValid: false, why });

const header = ({ headers }: WebhookRequest, name: string): string | undefined => one(headers[name]);
/** Rejects a repeated header. */
const one = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Compares in constant time, for any lengths. */
const isEqual = (given: string, wanted: string): boolean => timingSafeEqual(digest(given), digest(wanted));
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
