// The endpoints of the controller: where each answer of contract.ts is found, and the role that a caller needs. Routes, OpenAPI and
// the tests of access derive from this table. Pure data.
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
  /** Only looks, again and again: who did is not in the audit log. */
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

const container = <const Action extends string>(action: Action) =>
  `/api/v1/hosts/:host/containers/:name/${action}` as const;
const project = named('Project of the container.');
const file = { path: named('Absolute path in the container.'), project };
/** Who may open a console of the container may do this too. */
const byHand = { access: 'operate', right: 'console' } as const;
const set = <const Action extends string>(action: Action) => `/api/v1/sets/:set/${action}` as const;

export const endpoints = [
  {
    id: 'overview',
    method: 'GET',
    path: '/api/v1/overview',
    access: 'view',
    mode: 'json',
    result: contract.Overview,
    doc: 'The controller, its sources, hosts and sets.',
  },
  {
    id: 'objects',
    method: 'GET',
    path: set('objects'),
    access: 'view',
    mode: 'json',
    query: {
      host,
      status: named('Only with this status.'),
      after: named('`next` of the page before.'),
      limit: limit(1000, 20_000),
    },
    result: contract.ObjectPage,
    doc: 'The objects of a set on its hosts.',
  },
  {
    id: 'object',
    method: 'GET',
    path: set('object'),
    access: 'view',
    mode: 'json',
    query: { host: named('Its host; required.'), address: named('Its address; required.') },
    result: contract.ObjectDetail,
    doc: 'One object: desired beside live, differences, history. Secrets are masked.',
  },
  {
    id: 'drift',
    method: 'GET',
    path: set('drift'),
    access: 'view',
    mode: 'json',
    query: { since, limit: limit(500, 5000) },
    result: Type.Array(contract.DriftRecord),
    doc: 'Changes by others and the reaction of the controller, newest first.',
  },
  {
    id: 'history',
    method: 'GET',
    path: set('history'),
    access: 'view',
    mode: 'json',
    query: { limit: limit(100, 1000) },
    result: Type.Array(contract.RunRecord),
    doc: 'The runs of a set, newest first.',
  },
  {
    id: 'sync',
    method: 'POST',
    path: set('sync'),
    access: 'operate',
    right: 'sync',
    mode: 'json',
    body: contract.SyncRequest,
    result: contract.Operation,
    status: 202,
    doc: 'Compare and apply now.',
  },
  {
    id: 'suspend',
    method: 'POST',
    path: set('suspend'),
    access: 'operate',
    right: 'suspend',
    mode: 'json',
    body: contract.SuspendRequest,
    result: contract.Suspension,
    doc: 'Leave a set, an object or a field alone for a time.',
  },
  {
    id: 'resume',
    method: 'POST',
    path: set('resume'),
    access: 'operate',
    right: 'suspend',
    mode: 'json',
    body: contract.ResumeRequest,
    result: contract.Resumed,
    doc: 'End suspensions.',
  },
  {
    id: 'rollback',
    method: 'POST',
    path: set('rollback'),
    access: 'operate',
    right: 'rollback',
    mode: 'json',
    body: contract.RollbackRequest,
    result: contract.Operation,
    status: 202,
    doc: 'Go back to a revision, and stay there until the set is resumed.',
  },
  {
    id: 'prune',
    method: 'POST',
    path: set('prune'),
    access: 'operate',
    right: 'approve',
    mode: 'json',
    body: contract.PruneRequest,
    result: contract.Operation,
    status: 202,
    doc: 'Approve, for one revision, the deletion of more objects than prune.max.',
  },
  {
    id: 'approve',
    method: 'POST',
    path: set('approve'),
    access: 'operate',
    right: 'approve',
    mode: 'json',
    body: contract.ApproveRequest,
    result: contract.ApprovalStatus,
    doc: 'Approve the plans of the approvalGate, as somebody who neither wrote nor asked for them.',
  },
  {
    id: 'preview',
    method: 'POST',
    path: set('preview'),
    access: 'operate',
    right: 'sync',
    mode: 'json',
    body: contract.PreviewRequest,
    result: contract.Preview,
    doc: 'The plan of a branch or revision; nothing is changed.',
  },
  {
    id: 'operations',
    method: 'GET',
    path: '/api/v1/operations',
    access: 'view',
    mode: 'json',
    result: Type.Array(contract.Operation),
    doc: 'Operations at work and those that ended of late, newest first.',
  },
  {
    id: 'search',
    method: 'GET',
    path: '/api/v1/search',
    access: 'view',
    mode: 'json',
    query: { words: named('All of them must occur in its name, host or message.'), limit: limit(50, 1000) },
    result: contract.SearchResult,
    doc: 'Sets, hosts, sources and objects of all sets.',
  },
  {
    id: 'timeline',
    method: 'GET',
    path: '/api/v1/timeline',
    access: 'view',
    mode: 'json',
    query: {
      set: named('Only of this set.'),
      host,
      before: Type.String({ format: 'date-time', description: 'Only what is older.' }),
      limit: limit(200, 2000),
    },
    result: Type.Array(contract.TimelineEntry),
    doc: 'Runs and drift of all sets, newest first.',
  },
  {
    id: 'logs',
    method: 'GET',
    path: '/api/v1/logs',
    access: 'view',
    mode: 'json',
    query: { set: named('Only of this set.'), level: contract.LogLevel, limit: limit(500, 5000) },
    result: Type.Array(contract.LogLine),
    doc: 'Lines of that level and above, oldest first.',
  },
  {
    id: 'audit',
    method: 'GET',
    path: '/api/v1/audit',
    access: 'operate',
    mode: 'json',
    query: {
      set: named('Only of this set.'),
      since,
      after: Type.Integer({ minimum: 0, description: 'Only entries with a higher number, from there on.' }),
      limit: limit(1000, 20_000),
    },
    result: Type.Array(contract.AuditEntry),
    doc: 'Who asked for what, when, from where and why, oldest first.',
  },
  {
    id: 'audit-check',
    method: 'GET',
    path: '/api/v1/audit/check',
    access: 'operate',
    mode: 'json',
    result: contract.AuditCheck,
    doc: 'Whether each entry of the audit log is as it was written.',
  },
  {
    id: 'events',
    method: 'GET',
    path: '/api/v1/events',
    access: 'view',
    mode: 'events',
    result: contract.ControllerEvent,
    doc: 'What happens, as server-sent events. After `reset` read everything again.',
  },
  {
    id: 'session',
    method: 'GET',
    path: '/api/v1/session',
    access: 'none',
    mode: 'json',
    result: contract.Session,
    doc: 'Who the caller is, and how to log in.',
  },
  {
    id: 'login',
    method: 'POST',
    path: '/api/v1/session',
    access: 'none',
    mode: 'json',
    body: contract.SessionRequest,
    result: contract.Session,
    doc: 'Log in with a token: sets a cookie.',
  },
  {
    id: 'logout',
    method: 'DELETE',
    path: '/api/v1/session',
    access: 'none',
    mode: 'json',
    status: 204,
    doc: 'Log out.',
  },
  {
    id: 'oidc-login',
    method: 'GET',
    path: '/auth/login',
    access: 'none',
    mode: 'redirect',
    doc: 'To the OpenID Connect issuer.',
  },
  {
    id: 'oidc-callback',
    method: 'GET',
    path: '/auth/callback',
    access: 'none',
    mode: 'redirect',
    doc: 'Back from the issuer: sets a cookie.',
  },
  {
    id: 'ticket',
    method: 'GET',
    path: '/auth/ticket',
    access: 'none',
    mode: 'redirect',
    query: { ticket: named('The ticket; it is good once.') },
    doc: 'Log in with the ticket that `gantry ui` prints: sets a cookie.',
  },
  {
    id: 'console',
    method: 'GET',
    path: '/api/v1/hosts/:host/containers/:name/console',
    access: 'operate',
    right: 'console',
    mode: 'websocket',
    query: {
      project: named('Project of the container.'),
      command: named('A shell command; absent: the console of the container.'),
      width: Type.Integer({ minimum: 1, maximum: 1000 }),
      height: Type.Integer({ minimum: 1, maximum: 1000 }),
    },
    doc: 'A terminal. Binary frames are its bytes, text frames JSON: {"width": 80, "height": 24} to it; {"exit": 0} or {"error": "..."} from it. Needs console: true in the configuration.',
  },
  {
    id: 'containers',
    method: 'GET',
    path: '/api/v1/hosts/:host/containers',
    ...byHand,
    isLook: true,
    mode: 'json',
    query: { project: named('Only of this project.') },
    result: contract.ContainerList,
    doc: 'The containers of a host, with figures and snapshots. This and what follows need console: true in the configuration, as consoles do.',
  },
  {
    id: 'power',
    method: 'POST',
    path: container('power'),
    ...byHand,
    mode: 'json',
    body: contract.PowerRequest,
    result: contract.Done,
    doc: 'Start, stop, restart, freeze or unfreeze a container; answers when that is done. A set that declares another state brings it back.',
  },
  {
    id: 'snapshot',
    method: 'POST',
    path: container('snapshot'),
    ...byHand,
    mode: 'json',
    body: contract.SnapshotRequest,
    result: contract.Done,
    doc: 'Take, restore or delete a snapshot of a container.',
  },
  {
    id: 'container-log',
    method: 'GET',
    path: container('log'),
    ...byHand,
    isLook: true,
    mode: 'text',
    query: { project },
    doc: 'What a container wrote to its console: the last 512 KiB.',
  },
  {
    id: 'files',
    method: 'GET',
    path: container('files'),
    ...byHand,
    isLook: true,
    mode: 'json',
    query: file,
    result: contract.FileView,
    doc: 'A directory of a container, or what another entry is.',
  },
  {
    id: 'file',
    method: 'GET',
    path: container('file'),
    ...byHand,
    mode: 'text',
    query: file,
    doc: 'A file of a container.',
  },
  {
    id: 'upload',
    method: 'POST',
    path: container('file'),
    ...byHand,
    mode: 'upload',
    query: file,
    result: contract.Done,
    doc: 'Write a file in a container: the body is its content, of type application/octet-stream, sent within 30 s. One that exists is replaced.',
  },
  {
    id: 'webhook',
    method: 'POST',
    path: '/api/v1/webhooks/:source',
    access: 'signed',
    mode: 'json',
    status: 202,
    doc: 'A source has news. The signature of its provider is verified.',
  },
  {
    id: 'health',
    method: 'GET',
    path: '/healthz',
    access: 'none',
    mode: 'text',
    doc: '200 while the process answers.',
  },
  {
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    access: 'none',
    mode: 'text',
    doc: '200 from when every set was looked at, or another controller is active, until the end; 503 before.',
  },
  { id: 'metrics', method: 'GET', path: '/metrics', access: 'view', mode: 'text', doc: 'Prometheus metrics.' },
  {
    id: 'openapi',
    method: 'GET',
    path: '/openapi.json',
    access: 'view',
    mode: 'json',
    result: Type.Record(Type.String(), Type.Unknown()),
    doc: 'This contract as an OpenAPI document.',
  },
] as const satisfies readonly Endpoint[];

export type EndpointId = (typeof endpoints)[number]['id'];
