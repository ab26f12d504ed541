// The endpoints of the controller: path, answer and required role of each. Routes, OpenAPI and the tests of access derive from
// this table. Pure data.
import { Type, type TSchema } from 'typebox';
import * as contract from '../contract/index.ts';

export interface Endpoint {
  /** Stable name; handlers are keyed by it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** The path; `:name` stands for one segment. */
  readonly path: string;
  /** `none`: everyone. `signed`: the signature of the request decides. */
  readonly access: contract.Role | 'none' | 'signed';
  /** The right that stands in for the role operate. */
  readonly right?: contract.Right;
  /** A frequent read, which the audit log skips. */
  readonly isLook?: true;
  /** json: an answer of `result`; events: server-sent events; websocket: an upgrade; text: not JSON; upload: JSON, and the body is a file; redirect: to another page. */
  readonly mode: 'json' | 'events' | 'websocket' | 'text' | 'upload' | 'redirect';
  readonly doc: string;
  readonly query?: Readonly<Record<string, TSchema>>;
  readonly body?: TSchema;
  readonly result?: TSchema;
  /** The status of success; default 200. */
  readonly status?: 202 | 204;
}

const named = (description: string) => Type.String({ maxLength: 1000, description });
const limit = (standard: number, maximum: number) =>
  Type.Integer({ minimum: 1, maximum, default: standard, description: `At most so many; default ${standard}.` });
const host = named('Only of this host.');
const since = Type.String({ format: 'date-time', description: 'Only what is newer.' });

const container = '/api/v1/hosts/:host/containers/:name';
const project = named('Project of the container.');
const file = { path: named('Absolute path in the container.'), project };
/** Manual work needs the console right. */
const byHand = { right: 'console' } as const;
const set = '/api/v1/sets/:set';

type PathOf<Route> = Route extends `${Endpoint['method']} ${infer Path}` ? Path : never;

/** `route` is `METHOD /path`. Default mode: json. */
function row<
  const Id extends string,
  const Route extends `${Endpoint['method']} /${string}`,
  const More extends Partial<Omit<Endpoint, 'id' | 'method' | 'path' | 'access' | 'doc'>>,
>(id: Id, route: Route, access: Endpoint['access'], doc: string, more?: More) {
  const [method, path] = route.split(' ') as [Endpoint['method'], PathOf<Route>];
  const facts: Endpoint = { id, method, path, access, mode: 'json', ...more, doc };
  return facts as Endpoint & More & { readonly id: Id; readonly path: PathOf<Route> };
}

export const endpoints = [
  row('overview', 'GET /api/v1/overview', 'view', 'The controller, its sources, hosts and sets.', {
    result: contract.Overview,
  }),
  row('objects', `GET ${set}/objects`, 'view', 'The objects of a set on its hosts.', {
    query: {
      host,
      status: named('Only with this status.'),
      after: named('`next` of the page before.'),
      limit: limit(1000, 20_000),
    },
    result: contract.ObjectPage,
  }),
  row(
    'object',
    `GET ${set}/object`,
    'view',
    'One object: desired beside live, differences, history. Secrets are masked.',
    {
      query: { host: named('Its host; required.'), address: named('Its address; required.') },
      result: contract.ObjectDetail,
    },
  ),
  row('drift', `GET ${set}/drift`, 'view', 'Changes by others and the reaction of the controller, newest first.', {
    query: { since, limit: limit(500, 5000) },
    result: Type.Array(contract.DriftRecord),
  }),
  row('history', `GET ${set}/history`, 'view', 'The runs of a set, newest first.', {
    query: { limit: limit(100, 1000) },
    result: Type.Array(contract.RunRecord),
  }),
  row('sync', `POST ${set}/sync`, 'operate', 'Compare and apply now.', {
    right: 'sync',
    body: contract.SyncRequest,
    result: contract.Operation,
    status: 202,
  }),
  row('suspend', `POST ${set}/suspend`, 'operate', 'Leave a set, an object or a field alone for a time.', {
    right: 'suspend',
    body: contract.SuspendRequest,
    result: contract.Suspension,
  }),
  row('resume', `POST ${set}/resume`, 'operate', 'End suspensions.', {
    right: 'suspend',
    body: contract.ResumeRequest,
    result: contract.Resumed,
  }),
  row(
    'rollback',
    `POST ${set}/rollback`,
    'operate',
    'Go back to a revision, and stay there until the set is resumed.',
    { right: 'rollback', body: contract.RollbackRequest, result: contract.Operation, status: 202 },
  ),
  row(
    'prune',
    `POST ${set}/prune`,
    'operate',
    'Approve, for one revision, the deletion of more objects than prune.max.',
    { right: 'approve', body: contract.PruneRequest, result: contract.Operation, status: 202 },
  ),
  row(
    'approve',
    `POST ${set}/approve`,
    'operate',
    'Approve the plans of the approvalGate. The authors and requesters of a plan cannot.',
    { right: 'approve', body: contract.ApproveRequest, result: contract.ApprovalStatus },
  ),
  row('preview', `POST ${set}/preview`, 'operate', 'The plan of a branch or revision; nothing is changed.', {
    right: 'sync',
    body: contract.PreviewRequest,
    result: contract.Preview,
  }),
  row('operations', 'GET /api/v1/operations', 'view', 'Running and recent operations, newest first.', {
    result: Type.Array(contract.Operation),
  }),
  row('search', 'GET /api/v1/search', 'view', 'Sets, hosts, sources and objects of all sets.', {
    query: { words: named('All of them must occur in its name, host or message.'), limit: limit(50, 1000) },
    result: contract.SearchResult,
  }),
  row('timeline', 'GET /api/v1/timeline', 'view', 'Runs and drift of all sets, newest first.', {
    query: {
      set: named('Only of this set.'),
      host,
      before: Type.String({ format: 'date-time', description: 'Only what is older.' }),
      limit: limit(200, 2000),
    },
    result: Type.Array(contract.TimelineEntry),
  }),
  row('logs', 'GET /api/v1/logs', 'view', 'Lines of that level and above, oldest first.', {
    query: { set: named('Only of this set.'), level: contract.LogLevel, limit: limit(500, 5000) },
    result: Type.Array(contract.LogLine),
  }),
  row('audit', 'GET /api/v1/audit', 'operate', 'Who asked for what, when, from where and why, oldest first.', {
    query: {
      set: named('Only of this set.'),
      since,
      after: Type.Integer({ minimum: 0, description: 'Only entries with a higher number, from there on.' }),
      limit: limit(1000, 20_000),
    },
    result: Type.Array(contract.AuditEntry),
  }),
  row(
    'audit-check',
    'GET /api/v1/audit/check',
    'operate',
    'Whether each entry of the audit log is as it was written.',
    { result: contract.AuditCheck },
  ),
  row(
    'events',
    'GET /api/v1/events',
    'view',
    'What happens, as server-sent events. After `reset` read everything again.',
    { mode: 'events', result: contract.ControllerEvent },
  ),
  row('session', 'GET /api/v1/session', 'none', 'Who the caller is, and how to log in.', { result: contract.Session }),
  row('login', 'POST /api/v1/session', 'none', 'Log in with a token: sets a cookie.', {
    body: contract.SessionRequest,
    result: contract.Session,
  }),
  row('logout', 'DELETE /api/v1/session', 'none', 'Log out.', { status: 204 }),
  row('oidc-login', 'GET /auth/login', 'none', 'To the OpenID Connect issuer.', { mode: 'redirect' }),
  row('oidc-callback', 'GET /auth/callback', 'none', 'Back from the issuer: sets a cookie.', { mode: 'redirect' }),
  row('ticket', 'GET /auth/ticket', 'none', 'Log in with the ticket that `gantry ui` prints: sets a cookie.', {
    mode: 'redirect',
    query: { ticket: named('The ticket; it is good once.') },
  }),
  row(
    'console',
    `GET ${container}/console`,
    'operate',
    'A terminal. Binary frames are its bytes, text frames JSON: {"width": 80, "height": 24} to it; {"exit": 0} or {"error": "..."} from it. Needs console: true in the configuration.',
    {
      right: 'console',
      mode: 'websocket',
      query: {
        project: named('Project of the container.'),
        command: named('A shell command; absent: the console of the container.'),
        width: Type.Integer({ minimum: 1, maximum: 1000 }),
        height: Type.Integer({ minimum: 1, maximum: 1000 }),
      },
    },
  ),
  row(
    'containers',
    'GET /api/v1/hosts/:host/containers',
    'operate',
    'The containers of a host, with figures and snapshots. This and what follows need console: true in the configuration, as consoles do.',
    { ...byHand, isLook: true, query: { project: named('Only of this project.') }, result: contract.ContainerList },
  ),
  row(
    'power',
    `POST ${container}/power`,
    'operate',
    'Start, stop, restart, freeze or unfreeze a container; answers when that is done. A set that declares another state brings it back.',
    { ...byHand, body: contract.PowerRequest, result: contract.Done },
  ),
  row('snapshot', `POST ${container}/snapshot`, 'operate', 'Take, restore or delete a snapshot of a container.', {
    ...byHand,
    body: contract.SnapshotRequest,
    result: contract.Done,
  }),
  row('container-log', `GET ${container}/log`, 'operate', 'What a container wrote to its console: the last 512 KiB.', {
    ...byHand,
    isLook: true,
    mode: 'text',
    query: { project },
  }),
  row('files', `GET ${container}/files`, 'operate', 'A directory of a container, or what another entry is.', {
    ...byHand,
    isLook: true,
    query: file,
    result: contract.FileView,
  }),
  row('file', `GET ${container}/file`, 'operate', 'A file of a container.', { ...byHand, mode: 'text', query: file }),
  row(
    'upload',
    `POST ${container}/file`,
    'operate',
    'Write a file in a container: the body is its content, of type application/octet-stream, sent within 30 s. One that exists is replaced.',
    { ...byHand, mode: 'upload', query: file, result: contract.Done },
  ),
  row(
    'webhook',
    'POST /api/v1/webhooks/:source',
    'signed',
    'A source has news. The signature of its provider is verified.',
    { status: 202 },
  ),
  row('health', 'GET /healthz', 'none', '200 while the process answers.', { mode: 'text' }),
  row(
    'ready',
    'GET /readyz',
    'none',
    '200 from when every set was looked at, or another controller is active, until the end; 503 before.',
    { mode: 'text' },
  ),
  row('metrics', 'GET /metrics', 'view', 'Prometheus metrics.', { mode: 'text' }),
  row('openapi', 'GET /openapi.json', 'view', 'This contract as an OpenAPI document.', {
    result: Type.Record(Type.String(), Type.Unknown()),
  }),
];

export type EndpointId = (typeof endpoints)[number]['id'];
