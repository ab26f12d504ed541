// Starts the API of a controller on loopback for a test, with a token for each role, and calls it like a program or a browser.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { listen, type HttpListener, type ListenerDeps } from '../../../reconciler/controller/http/listener.ts';
import type { HttpSettings } from '../../../reconciler/controller/http/settings.ts';
import { FakeController } from './fake-controller.ts';

export const tokens = { view: 'view-token-0123456789abcdef', operate: 'operate-token-0123456789abcdef' };

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface Asking {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpHarness {
  readonly controller: FakeController;
  readonly listener: HttpListener;
  readonly directory: string;
  readonly logged: string[];
  /** Flags of the command line for a user who may do everything. */
  readonly asOperator: readonly string[];
  ask(path: string, asking?: Asking): Promise<Reply>;
  close(): Promise<void>;
}

export type HarnessOptions = Partial<Omit<HttpSettings, 'auth'>> &
  Pick<ListenerDeps, 'webhooks' | 'audit' | 'pageDirectory' | 'nowMs' | 'patienceMs'> & {
    readonly oidc?: NonNullable<HttpSettings['auth']>['oidc'];
    readonly grants?: NonNullable<HttpSettings['auth']>['grants'];
    readonly controller?: FakeController;
  };

export async function startHttp(options: HarnessOptions = {}): Promise<HttpHarness> {
  const {
    webhooks,
    pageDirectory,
    nowMs,
    patienceMs,
    oidc,
    grants,
    audit,
    controller = new FakeController(),
    ...settings
  } = options;
  const directory = await mkdtemp(join(tmpdir(), 'gantry-http-'));
  const roles = ['view', 'operate'] as const;
  await Promise.all(roles.map((role) => writeFile(join(directory, role), `${tokens[role]}\n`)));
  const logged: string[] = [];
  const say = (message: string): void => void logged.push(message);
  const auth = {
    tokens: roles.map((role) => ({ name: `${role}er`, role, file: join(directory, role) })),
    ...(oidc === undefined ? {} : { oidc }),
    ...(grants === undefined ? {} : { grants }),
  };
  const listener = await listen({
    controller,
    settings: { listen: '127.0.0.1:0', console: false, ...settings, auth },
    log: { debug: say, info: say, warn: say, error: say },
    ...(audit === undefined ? {} : { audit }),
    ...(webhooks === undefined ? {} : { webhooks }),
    ...(pageDirectory === undefined ? {} : { pageDirectory }),
    ...(nowMs === undefined ? {} : { nowMs }),
    ...(patienceMs === undefined ? {} : { patienceMs }),
  });
  return {
    controller,
    listener,
    directory,
    logged,
    asOperator: ['--url', listener.url, '--token-file', join(directory, 'operate')],
    ask: (path, asking) => ask(`${listener.url}${path}`, asking),
    close: async () => {
      await listener.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Follows no redirects, keeps no cookies. */
export function ask(url: string, { method, token, body, headers = {} }: Asking = {}): Promise<Reply> {
  const bytes = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      {
        method: method ?? (bytes === undefined ? 'GET' : 'POST'),
        agent: false,
        headers: {
          ...(bytes === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) });
        });
      },
    );
    request.on('error', reject);
    request.end(bytes);
  });
}

/** `name=value` of the cookies that an answer sets. */
export const cookiesOf = ({ headers }: Reply): string =>
  (headers['set-cookie'] ?? []).map((cookie) => cookie.split(';')[0] ?? '').join('; ');

export interface Browser {
  readonly cookie: string;
  readonly csrf: string;
}

export async function logIn(http: HttpHarness, token: string): Promise<Browser> {
  const reply = await http.ask('/api/v1/session', { body: { token } });
  if (reply.status !== 200) throw new Error(`the login failed: ${reply.text}`);
  return { cookie: cookiesOf(reply), csrf: reply.json<{ csrfToken: string }>().csrfToken };
}
