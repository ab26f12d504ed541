// The handlers of the controller's endpoints: they call the engine and the sessions.
import type { IncomingMessage } from 'node:http';
import type { Controller, Person } from '../controller.ts';
import { search } from '../decide/search.ts';
import { timelineOf } from '../decide/timeline.ts';
import { forViewers, previewForViewers } from '../decide/withhold.ts';
import type { ApiCaller, Authenticator } from './access/authenticator.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import { containerRoutes } from './containers/container-routes.ts';
import { granteeOf, type Gate } from './access/gate.ts';
import { allows, hostsOfSet } from './access/grants.ts';
import { metricsIn } from './access/scope.ts';
import { seenController } from './access/seen-controller.ts';
import { writeCookie } from './access/cookies.ts';
import { pendingS, type IssuerLogin } from './access/issuer-login.ts';
import type { BrowserSession, Sessions } from './access/sessions.ts';
import type { Tickets } from './access/tickets.ts';
import { rights, type Overview, type Session } from '../contract/index.ts';
import type { ControllerMetrics } from './metrics.ts';
import { openApiDocument } from './openapi.ts';
import { Refusal, refusalStatus, type RefusalCode } from './refusal.ts';
import type { Answer, Call, Handlers } from './route.ts';
import type { HttpSettings } from './settings.ts';
import type { ReceiveWebhook } from '../sources/webhooks/receive-webhooks.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface RouteDeps {
  readonly controller: Controller;
  readonly settings: HttpSettings;
  readonly authenticator: Authenticator;
  readonly gate: Pick<Gate, 'scopeOf'>;
  readonly sessions: Sessions;
  readonly tickets: Tickets;
  /** Undefined: no issuer is configured. */
  readonly issuer: () => IssuerLogin | undefined;
  /** Undefined: no audit log is written. */
  readonly audit: AuditLog | undefined;
  readonly metrics: ControllerMetrics;
  readonly webhooks: ReceiveWebhook | undefined;
  readonly nowMs: () => number;
}

type Callers = Pick<Call<'overview'>, 'caller'>;
/** The user that the history names. */
const byOf = ({ caller }: Callers): string => caller.name ?? 'anonymous';
const personOf = ({ caller }: Callers): Person => ({
  name: byOf({ caller }),
  mails: (caller.token ?? caller.session?.token ?? caller.session)?.mails ?? [],
});

export function routesOf(deps: RouteDeps): Handlers {
  const { controller, metrics } = deps;
  const seen = ({ caller }: Callers) => seenController(controller, deps.gate.scopeOf(caller));
  const seesValues = ({ role }: ApiCaller): boolean => role === 'operate' || deps.settings.isOwnHost === true;
  return {
    overview: (call) => seen(call).overview(),
    objects: (call) => seen(call).objects(call.params.set, call.query),
    object: async ({ params, query: { host, address }, caller }) => {
      if (host === undefined || address === undefined)
        throw new Refusal('bad-request', 'The query needs host and address');
      const detail = await seen({ caller }).object(params.set, host, address);
      return seesValues(caller) ? detail : forViewers(detail);
    },
    drift: (call) => seen(call).drift(call.params.set, call.query),
    history: (call) => seen(call).history(call.params.set, call.query),
    operations: (call) => seen(call).operations(),
    search: (call) => {
      const { words = '', limit = 50 } = call.query;
      const view = seen(call);
      const objects = (set: string) => view.objects(set, { limit: Infinity }).objects;
      return search({ overview: view.overview(), objects }, words, limit);
    },
    timeline: (call) => {
      const { set, limit = 200, ...query } = call.query;
      const view = seen(call);
      const names = set === undefined ? view.overview().sets.map(({ name }) => name) : [set];
      const max = query.before === undefined && query.host === undefined ? limit : 1000;
      const happened = names.map((name) => ({
        set: name,
        runs: view.history(name, { limit: max }),
        drift: view.drift(name, { limit: max }),
      }));
      return timelineOf(happened, { ...query, limit });
    },
    logs: (call) => seen(call).logs(call.query),
    sync: (call) => controller.sync(call.params.set, call.body, byOf(call)),
    suspend: (call) => {
      if (call.body.path !== undefined && call.body.address === undefined)
        throw new Refusal('bad-request', 'The body has a path without an address: name the object of the field');
      return controller.suspend(call.params.set, call.body, byOf(call));
    },
    resume: (call) => controller.resume(call.params.set, call.body, byOf(call)),
    rollback: (call) => controller.rollback(call.params.set, call.body, byOf(call)),
    prune: (call) => controller.approvePrune(call.params.set, call.body, byOf(call)),
    approve: (call) => controller.approve(call.params.set, call.body, personOf(call)),
    preview: async ({ params, body, signal, caller }) => {
      const preview = await controller.preview(params.set, body, signal);
      return seesValues(caller) ? preview : previewForViewers(preview);
    },
    audit: async ({ query }) => (await deps.audit?.list(query)) ?? [],
    'audit-check': async () => {
      if (deps.audit === undefined) throw new Refusal('not-found', 'There is no audit log');
      return deps.audit.verify();
    },
    ...containerRoutes(deps),
    ...sessionRoutes(deps),
    webhook: (call) => receiveWebhook(deps, call),
    health: () => ({ text: 'ok\n' }),
    ready: () =>
      controller.isReady() ? { text: 'ready\n' } : { status: 503, text: 'not every set was looked at yet\n' },
    metrics: async (call) => ({
      headers: { 'content-type': metrics.contentType },
      text: metricsIn(await metrics.text(), seen(call).overview(), deps.gate.scopeOf(call.caller)),
    }),
    openapi: () => openApiDocument(controller.overview().controller.version),
  };
}

type SessionRoutes = Pick<Handlers, 'session' | 'login' | 'logout' | 'oidc-login' | 'oidc-callback' | 'ticket'>;

function sessionRoutes({
  authenticator,
  sessions,
  tickets,
  issuer,
  settings,
  nowMs,
  controller,
}: RouteDeps): SessionRoutes {
  const isTls = settings.tls !== undefined;
  /** Only the origin and our public address tell that a proxy ended TLS. */
  const isSecure = ({ headers }: IncomingMessage): boolean =>
    isTls || (headers.origin ?? settings.url ?? '').startsWith('https:');
  const begin = (
    { addHeader, request }: Pick<Call<'login'>, 'addHeader' | 'request'>,
    user: Pick<BrowserSession, 'name' | 'role' | 'token' | 'groups' | 'mails'>,
  ) => {
    const { secret, session } = sessions.begin(user);
    const maxAgeS = Math.round((session.expiresAtMs - nowMs()) / 1000);
    addHeader('set-cookie', writeCookie({ isTls, use: 'session' }, secret, { maxAgeS, isSecure: isSecure(request) }));
    return session;
  };
  const needIssuer = (): IssuerLogin => {
    const found = issuer();
    if (found === undefined) throw new Refusal('not-found', 'No OpenID Connect issuer is configured');
    return found;
  };
  return {
    session: ({ caller }) => shownSession(settings, caller, controller.overview()),
    login: async (call) => {
      const token = await authenticator.userOf(call.body.token, authenticator.addressOf(call.request));
      const session = begin(call, { name: token.name, role: token.role, token });
      const caller: ApiCaller = { name: token.name, role: token.role, via: 'session', session };
      return shownSession(settings, caller, controller.overview());
    },
    logout: ({ request, addHeader }) => {
      sessions.end(authenticator.cookieOf(request, 'session') ?? '');
      addHeader('set-cookie', writeCookie({ isTls, use: 'session' }, '', { maxAgeS: 0 }));
      return undefined;
    },
    'oidc-login': async ({ addHeader, request }) => {
      const { url, secret } = await needIssuer().begin(authenticator.addressOf(request));
      const life = { maxAgeS: pendingS, sameSite: 'Lax', isSecure: isSecure(request) } as const;
      addHeader('set-cookie', writeCookie({ isTls, use: 'login' }, secret, life));
      return { status: 303, headers: { location: url }, text: '' };
    },
    'oidc-callback': async (call) => {
      const { request, addHeader } = call;
      const query = /\?.*$/.exec(request.url ?? '')?.[0] ?? '';
      const user = await needIssuer().finish(authenticator.cookieOf(request, 'login'), query);
      addHeader('set-cookie', writeCookie({ isTls, use: 'login' }, '', { maxAgeS: 0, sameSite: 'Lax' }));
      begin(call, user);
      return pageThatGoesOn;
    },
    ticket: (call) => {
      const user = tickets.use(call.query.ticket ?? '');
      if (user !== undefined) begin(call, user);
      else if (call.caller.session === undefined)
        throw new Refusal('forbidden', 'The ticket was used, or is too old: start gantry ui again');
      return pageThatGoesOn;
    },
  };
}

/** Browsers omit a strict cookie on a redirect that another site began, but send it when our own page navigates. */
const pageThatGoesOn: Answer = {
  headers: { 'content-type': 'text/html; charset=utf-8' },
  text: '<!doctype html><html lang="en"><meta http-equiv="refresh" content="0; url=/"><title>Gantry</title><a href="/">Go on</a></html>\n',
};

function shownSession({ auth, console }: HttpSettings, caller: ApiCaller, overview: Overview): Session {
  const { name, role, session } = caller;
  const { grants = [] } = auth ?? {};
  const who = granteeOf(caller);
  const isGranted = role === 'view' && grants.length > 0;
  const may = (isGranted ? overview.sets : []).flatMap(({ name: set }) => {
    const hosts = hostsOfSet(overview, set);
    const held = rights.filter((right) => allows(grants, who, { right, set, hosts }));
    return held.length === 0 ? [] : [{ set, rights: held }];
  });
  return {
    ...withoutUndefined({ name, role }),
    ...(session === undefined
      ? {}
      : { csrfToken: session.csrfToken, expiresAt: new Date(session.expiresAtMs).toISOString() }),
    login: { token: (auth?.tokens ?? []).length > 0, oidc: auth?.oidc !== undefined },
    ...(may.length === 0 ? {} : { may }),
    console: console && allows(grants, who, { right: 'console' }),
  };
}

async function receiveWebhook({ webhooks, authenticator }: RouteDeps, call: Call<'webhook'>): Promise<undefined> {
  const { request, params, bytes } = call;
  if (webhooks === undefined) throw new Refusal('not-found', 'No source has a webhook');
  const { headers } = request;
  const { status, message } = await webhooks({
    source: params.source,
    headers,
    body: bytes,
    address: authenticator.addressOf(request),
  });
  if (status !== 202) throw new Refusal(codeOf(status), message);
  return undefined;
}

const codeOf = (status: number): RefusalCode => {
  const codes = Object.keys(refusalStatus) as RefusalCode[];
  return codes.find((code) => refusalStatus[code] === status) ?? 'bad-request';
};
