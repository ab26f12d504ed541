// An OpenID Connect issuer on loopback for tests: real keys, discovery, the device flow with tokens
// that are refreshed, and the code flow of browsers with PKCE.
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose';
import { collect } from './daemon.ts';

export interface TestIssuer {
  readonly url: string;
  /** Requests that arrived, by path. */
  readonly asked: string[];
  /** Tokens of both flows get these claims. */
  claims: JWTPayload;
  /** Seconds that tokens of the device flow live. */
  lifeS: number;
  /** The user of the device flow: answers polls with this. */
  decision: 'pending' | 'allow' | 'deny';
  /** Answers everything with this status when it is set. */
  broken: number | undefined;
  /** A good token unless claims or header say otherwise. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>;
  /** New keys; the former ones are forgotten. */
  rotate(alg?: 'RS256' | 'ES256'): Promise<void>;
  readonly publicPem: () => Promise<string>;
  close(): Promise<void>;
}

export const audience = 'gantry-tests';

interface Keys {
  readonly alg: 'RS256' | 'ES256';
  readonly kid: string;
  readonly pair: Awaited<ReturnType<typeof generateKeyPair>>;
}

let keyCount = 0;
const makeKeys = async (alg: Keys['alg']): Promise<Keys> => ({
  alg,
  kid: `key-${keyCount++}`,
  pair: await generateKeyPair(alg, { extractable: true }),
});

export async function startIssuer(alg: Keys['alg'] = 'RS256'): Promise<TestIssuer> {
  let keys = await makeKeys(alg);
  const refreshTokens = new Set<string>();
  const codes = new Map<string, { readonly nonce: string; readonly challenge: string; readonly client: string }>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
  const self: TestIssuer = {
    url,
    asked: [],
    claims: {},
    lifeS: 300,
    decision: 'pending',
    broken: undefined,
    async token(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1000);
      const payload = { iss: url, aud: audience, sub: 'u1', iat: now, exp: now + 300, ...claims };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: keys.alg, kid: keys.kid, typ: 'at+jwt', ...header })
        .sign(keys.pair.privateKey);
    },
    async rotate(next = keys.alg) {
      keys = await makeKeys(next);
    },
    publicPem: async () => {
      const { exportSPKI } = await import('jose');
      return exportSPKI(keys.pair.publicKey);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function granted(): Promise<object> {
    const refresh = `refresh-${keyCount++}`;
    refreshTokens.add(refresh);
    const exp = Math.floor(Date.now() / 1000) + self.lifeS;
    const access = await self.token({ exp, ...self.claims });
    return { access_token: access, token_type: 'Bearer', expires_in: self.lifeS, refresh_token: refresh };
  }

  /** Where the browser goes back to once its user has agreed. */
  function authorized(query: URLSearchParams): string {
    const code = `code-${keyCount++}`;
    const read = (name: string): string => query.get(name) ?? '';
    codes.set(code, { nonce: read('nonce'), challenge: read('code_challenge'), client: read('client_id') });
    return `${read('redirect_uri')}?${String(new URLSearchParams({ code, state: read('state') }))}`;
  }

  async function redeemed(form: URLSearchParams): Promise<readonly [number, object]> {
    const code = form.get('code') ?? '';
    const known = codes.get(code);
    codes.delete(code);
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (known === undefined || proof !== known.challenge) return [400, { error: 'invalid_grant' }];
    const id = await self.token({ aud: known.client, nonce: known.nonce, ...self.claims }, { typ: 'JWT' });
    return [200, { ...(await granted()), id_token: id }];
  }

  async function tokenReply(form: URLSearchParams): Promise<readonly [number, object]> {
    if (form.get('grant_type') === 'authorization_code') return redeemed(form);
    if (form.get('grant_type') === 'refresh_token') {
      const isKnown = refreshTokens.delete(form.get('refresh_token') ?? '');
      return isKnown ? [200, await granted()] : [400, { error: 'invalid_grant' }];
    }
    if (form.get('device_code') !== 'device') return [400, { error: 'invalid_grant' }];
    if (self.decision === 'pending') return [400, { error: 'authorization_pending' }];
    return self.decision === 'deny' ? [400, { error: 'access_denied' }] : [200, await granted()];
  }

  async function replyTo(path: string, body: string): Promise<readonly [number, object]> {
    if (self.broken !== undefined) return [self.broken, {}];
    const form = new URLSearchParams(body);
    if (path === '/realm/.well-known/openid-configuration') {
      const places = {
        jwks_uri: `${url}/keys`,
        token_endpoint: `${url}/token`,
        authorization_endpoint: `${url}/authorize`,
      };
      return [200, { issuer: url, ...places, device_authorization_endpoint: `${url}/device` }];
    }
    if (path === '/realm/keys') return [200, { keys: [{ ...(await exportJWK(keys.pair.publicKey)), kid: keys.kid }] }];
    if (path === '/realm/device') {
      const codes = { device_code: 'device', user_code: 'WDJB-MJHT', interval: 1, expires_in: 60 };
      return [200, { ...codes, verification_uri: `${url}/verify` }];
    }
    return path === '/realm/token' ? tokenReply(form) : [404, {}];
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    self.asked.push(path);
    if (path.startsWith('/realm/authorize?')) {
      const location = authorized(new URL(path, url).searchParams);
      response.writeHead(302, { location }).end();
      return;
    }
    const [status, body] = await replyTo(path, (await collect(request)).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
  return self;
}
