// The login of a user at an OpenID Connect issuer: device flow, renewal of tokens, and the token for each call.
import type { BearerSource } from '../../../server/client/transport/transport.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { CliError, commandError } from '../errors/usage-error.ts';
import { FileError } from '../../../server/lib/shared/error-code.ts';
import { readLogin, whileAlone, writeLogin, type Login } from './login-file.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface IssuerOfHost {
  readonly issuer: string;
  readonly clientId: string;
  readonly audience: string | undefined;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
}

/** A token is renewed this long before it ends. */
const marginMs = 30_000;
const scope = 'openid profile email groups offline_access';

async function library(issuer: string, clientId: string) {
  const oidc = await import('openid-client');
  const url = new URL(issuer);
  const isLocal = url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  const options = isLocal ? { execute: [oidc.allowInsecureRequests] } : {};
  return { oidc, config: await oidc.discovery(url, clientId, undefined, oidc.None(), options) };
}

/** `show` gets the address and the code that the user enters there. */
export async function logIn(
  { issuer, clientId, audience }: IssuerOfHost,
  show: (address: string, code: string) => void,
  signal: AbortSignal,
): Promise<Tokens> {
  try {
    const { oidc, config } = await library(issuer, clientId);
    const wanted = { scope, ...withoutUndefined({ audience }) };
    const device = await oidc.initiateDeviceAuthorization(config, wanted);
    show(device.verification_uri_complete ?? device.verification_uri, device.user_code);
    return await oidc.pollDeviceAuthorizationGrant(config, device, undefined, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw commandError(`The login at ${issuer} failed: ${errorCodeOf(error)}`, error);
  }
}

export const loginOf = (
  host: string,
  { issuer, clientId }: Pick<IssuerOfHost, 'issuer' | 'clientId'>,
  tokens: Tokens,
  nowMs: number,
): Login => ({
  host,
  issuer,
  client_id: clientId,
  access_token: tokens.access_token,
  ...withoutUndefined({ refresh_token: tokens.refresh_token }),
  expires_at: nowMs + (tokens.expires_in ?? 300) * 1000,
});

/** The token of the login at the host. Concurrent callers share one renewal shortly before it expires. */
export function bearerOf(login: Login, env: Env, nowMs: () => number): BearerSource {
  let current = login;
  let renewing: Promise<void> | undefined;
  const isGood = ({ expires_at: endMs }: Login): boolean => nowMs() < endMs - marginMs;
  // Many issuers take a token for a renewal once only.
  const renewed = (): Promise<void> =>
    whileAlone(env, async () => {
      const stored = await readLogin(env, login.host);
      if (stored !== undefined && isGood(stored)) current = stored;
      else current = await renew(stored ?? current, env, nowMs());
    });
  return {
    current: () => current.access_token,
    fresh: async () => {
      if (!isGood(current)) await (renewing ??= renewed().finally(() => (renewing = undefined)));
      return current.access_token;
    },
  };
}

async function renew(login: Login, env: Env, nowMs: number): Promise<Login> {
  const { host, issuer, client_id: clientId, refresh_token: refresh, server_cert: pin } = login;
  const again = `log in again: gantry login ${host}`;
  if (refresh === undefined) throw new CliError(`The login at ${host} has ended; ${again}`, exitCodes.unreachable);
  try {
    const { oidc, config } = await library(issuer, clientId);
    const tokens = await oidc.refreshTokenGrant(config, refresh);
    const next = loginOf(host, { issuer, clientId }, { refresh_token: refresh, ...tokens }, nowMs);
    const whole = { ...next, ...withoutUndefined({ server_cert: pin }) };
    await writeLogin(env, whole);
    return whole;
  } catch (error) {
    if (error instanceof FileError) throw error;
    const why = errorCodeOf(error);
    throw new CliError(
      `The login at ${host} cannot be renewed at ${issuer} (${why}); ${again}`,
      exitCodes.unreachable,
      error,
    );
  }
}

/** The issuer's error code, such as access_denied. */
function errorCodeOf(error: unknown): string {
  if (error instanceof Error && 'error' in error && typeof error.error === 'string') return error.error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error ? `${reasonOf(error)}: ${cause.message}` : reasonOf(error);
}
