// Calls the controller's API. A refusal becomes an error with a message for people.
import type {
  ApproveRequest,
  ContainerList,
  Done,
  DriftRecord,
  Failure,
  FileView,
  LogLevel,
  LogLine,
  ObjectDetail,
  ObjectPage,
  Operation,
  Overview,
  PowerRequest,
  Preview,
  PreviewRequest,
  PruneRequest,
  Resumed,
  ResumeRequest,
  RollbackRequest,
  RunRecord,
  SearchResult,
  Session,
  SnapshotRequest,
  SuspendRequest,
  Suspension,
  SyncRequest,
  TimelineEntry,
} from '../../controller/contract/index.ts';

/** A refusal, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

let csrfToken: string | undefined;
/** Called when the controller no longer knows the session. */
let onSessionEnd: () => void = () => undefined;

export function rememberSession(session: Session, ended: () => void): void {
  csrfToken = session.csrfToken;
  onSessionEnd = ended;
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly file?: Blob;
  readonly signal?: AbortSignal;
}

async function call<T>(path: string, request: Call = {}): Promise<T> {
  const response = await answerTo(path, request);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

async function answerTo(path: string, { method = 'GET', body, file, signal }: Call): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (file !== undefined) headers['content-type'] = 'application/octet-stream';
  if (method !== 'GET' && csrfToken !== undefined) headers['x-csrf-token'] = csrfToken;
  const response = await fetch(new URL(`.${path}`, document.baseURI), {
    method,
    headers,
    credentials: 'same-origin',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(file === undefined ? {} : { body: file }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'The controller does not answer. Check the connection; the page tries again by itself.');
  });
  if (response.ok) return response;
  if (response.status === 401 && path !== '/api/v1/session') onSessionEnd();
  throw new ApiError(response.status, await messageOf(response));
}

async function messageOf(response: Response): Promise<string> {
  const failure = (await response.json().catch(() => undefined)) as Partial<Failure> | undefined;
  const message = failure?.error?.message ?? `The controller answered ${response.status} ${response.statusText}.`;
  const problems = (failure?.error?.problems ?? []).map((problem) => `${problem.path}: ${problem.message}`);
  return [message, ...problems].join('\n');
}

const query = (values: Readonly<Record<string, string | number | undefined>>): string => {
  const given = Object.entries(values).filter((entry) => entry[1] !== undefined && entry[1] !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([key, value]) => [key, String(value)]))}`;
};
const inSet = (set: string, what: string): string => `/api/v1/sets/${encodeURIComponent(set)}/${what}`;
const onHost = (host: string, ...parts: readonly string[]): string =>
  ['/api/v1/hosts', host, 'containers', ...parts]
    .map((part, at) => (at === 0 ? part : encodeURIComponent(part)))
    .join('/');
const post = <T>(path: string, body: unknown): Promise<T> => call<T>(path, { method: 'POST', body });

export const api = {
  session: () => call<Session>('/api/v1/session'),
  logIn: (token: string) => post<Session>('/api/v1/session', { token }),
  logOut: () => call<void>('/api/v1/session', { method: 'DELETE' }),

  overview: () => call<Overview>('/api/v1/overview'),
  objectPage: (set: string, after: string | undefined, signal?: AbortSignal) =>
    call<ObjectPage>(inSet(set, 'objects') + query({ after, limit: 20_000 }), withSignal(signal)),
  object: (set: string, host: string, address: string, signal?: AbortSignal) =>
    call<ObjectDetail>(inSet(set, 'object') + query({ host, address }), withSignal(signal)),
  drift: (set: string, signal?: AbortSignal) => call<readonly DriftRecord[]>(inSet(set, 'drift'), withSignal(signal)),
  history: (set: string, signal?: AbortSignal) => call<readonly RunRecord[]>(inSet(set, 'history'), withSignal(signal)),
  operations: () => call<readonly Operation[]>('/api/v1/operations'),
  search: (words: string, signal?: AbortSignal) =>
    call<SearchResult>(`/api/v1/search${query({ words })}`, withSignal(signal)),
  timeline: (filter: { readonly set?: string; readonly host?: string }, signal?: AbortSignal) =>
    call<readonly TimelineEntry[]>(`/api/v1/timeline${query(filter)}`, withSignal(signal)),
  logs: (filter: { readonly set?: string; readonly level?: LogLevel }, signal?: AbortSignal) =>
    call<readonly LogLine[]>(`/api/v1/logs${query(filter)}`, withSignal(signal)),

  sync: (set: string, body: SyncRequest) => post<Operation>(inSet(set, 'sync'), body),
  suspend: (set: string, body: SuspendRequest) => post<Suspension>(inSet(set, 'suspend'), body),
  resume: (set: string, body: ResumeRequest) => post<Resumed>(inSet(set, 'resume'), body),
  rollback: (set: string, body: RollbackRequest) => post<Operation>(inSet(set, 'rollback'), body),
  approve: (set: string, body: ApproveRequest) => post<unknown>(inSet(set, 'approve'), body),
  prune: (set: string, body: PruneRequest) => post<Operation>(inSet(set, 'prune'), body),
  preview: (set: string, body: PreviewRequest) => post<Preview>(inSet(set, 'preview'), body),

  containers: (host: string, project: string | undefined, signal?: AbortSignal) =>
    call<ContainerList>(onHost(host) + query({ project }), withSignal(signal)),
  power: ({ host, name }: ContainerPlace, body: PowerRequest) => post<Done>(onHost(host, name, 'power'), body),
  snapshot: ({ host, name }: ContainerPlace, body: SnapshotRequest) => post<Done>(onHost(host, name, 'snapshot'), body),
  containerLog: async ({ host, name, project }: ContainerPlace, signal?: AbortSignal) =>
    (await answerTo(onHost(host, name, 'log') + query({ project }), withSignal(signal))).text(),
  files: ({ host, name, project }: ContainerPlace, path: string, signal?: AbortSignal) =>
    call<FileView>(onHost(host, name, 'files') + query({ path, project }), withSignal(signal)),
  upload: (container: ContainerPlace, path: string, file: Blob) =>
    call<Done>(filePath(container, path), { method: 'POST', file }),
};

export interface ContainerPlace {
  readonly host: string;
  readonly name: string;
  readonly project: string | undefined;
}

const filePath = ({ host, name, project }: ContainerPlace, path: string): string =>
  onHost(host, name, 'file') + query({ path, project });

/** Where a browser downloads the file. */
export const fileAddress = (container: ContainerPlace, path: string): string =>
  new URL(`.${filePath(container, path)}`, document.baseURI).href;

const withSignal = (signal: AbortSignal | undefined): Call => (signal === undefined ? {} : { signal });

/** The address of a console's websocket. */
/** `command` is one for a shell; absent: the console of the container. */
export function consoleAddress(
  { host, name, project }: ContainerPlace,
  size: { readonly width: number; readonly height: number },
  command?: string,
): string {
  const path = `/api/v1/hosts/${encodeURIComponent(host)}/containers/${encodeURIComponent(name)}/console`;
  const address = new URL(`.${path}${query({ project, command, ...size })}`, document.baseURI);
  address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
  return address.href;
}
