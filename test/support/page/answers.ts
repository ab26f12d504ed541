// Answers of the fake controller, and the resulting events: pure steps over a world, without sessions and sockets.
import type {
  ControllerEvent,
  Operation,
  PowerRequest,
  PruneRequest,
  ResumeRequest,
  RollbackRequest,
  SetStatus,
  SuspendRequest,
  Suspension,
  SyncRequest,
} from '../../../reconciler/controller/contract/index.ts';
import { search } from '../../../reconciler/controller/decide/search.ts';
import { timelineOf, type Happened } from '../../../reconciler/controller/decide/timeline.ts';
import type { PageWorld } from './worlds.ts';

export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Recorded {
  readonly path: string;
  readonly body: unknown;
  readonly query?: string;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface Answer {
  readonly answer: unknown;
  readonly events: readonly ControllerEvent[];
}

const only = (answer: unknown): Answer => ({ answer, events: [] });
const noSuch = (what: string): Refusal => new Refusal(404, `${what} was not found.`);

export function answerOf(world: PageWorld, asked: Asked): Answer {
  const { path, query } = asked;
  if (path === '/api/v1/overview') return only(world.overview);
  if (path === '/api/v1/operations') return only(world.operations);
  if (path === '/api/v1/search') {
    const objects = (set: string) => world.objects.get(set) ?? [];
    return only(search({ overview: world.overview, objects }, query.get('words') ?? '', 50));
  }
  if (path === '/api/v1/timeline') return only(timelineOf(happened(world, query.get('set')), { limit: 200 }));
  if (path === '/api/v1/logs') return only(logsOf(world, query));
  const [, name, action] = /^\/api\/v1\/hosts\/[^/]+\/containers(?:\/([^/]+)\/(\w+))?$/.exec(path) ?? [];
  if (path.startsWith('/api/v1/hosts/')) return only(byHand(world, decodeURIComponent(name ?? ''), action, asked));
  const [, set, what = ''] = /^\/api\/v1\/sets\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  const found = world.overview.sets.find(({ name }) => name === decodeURIComponent(set ?? ''));
  if (found === undefined) throw noSuch('The set');
  return asked.method === 'GET' ? read(world, found, what, query) : change(world, found, what, asked.body);
}

const happened = ({ overview, history, drift }: PageWorld, only: string | null): readonly Happened[] =>
  overview.sets
    .filter(({ name }) => only === null || name === only)
    .map(({ name }) => ({ set: name, runs: history.get(name) ?? [], drift: drift.get(name) ?? [] }));

function byHand(world: PageWorld, name: string, action: string | undefined, { method, query, body }: Asked): unknown {
  const at = new Date().toISOString();
  switch (action) {
    case undefined:
      return { at, containers: world.containers };
    case 'log':
      return world.containerLog;
    case 'files':
      return world.files(query.get('path') ?? '/');
    case 'file':
      return method === 'GET' ? `content of ${query.get('path')}` : { at };
    case 'power': {
      const { action: wanted } = body as PowerRequest;
      const found = world.containers.findIndex((one) => one.name === name);
      const before = world.containers[found];
      if (before === undefined) throw noSuch('The container');
      world.containers[found] = { ...before, status: wanted === 'stop' ? 'Stopped' : 'Running' };
      return { at };
    }
    default:
      return { at };
  }
}

function logsOf(world: PageWorld, query: URLSearchParams): unknown {
  const levels = ['debug', 'info', 'warn', 'error'];
  const least = levels.indexOf(query.get('level') ?? 'debug');
  const set = query.get('set');
  return world.logs.filter((line) => levels.indexOf(line.level) >= least && (set === null || line.set === set));
}

function read(world: PageWorld, { name }: SetStatus, what: string, query: URLSearchParams): Answer {
  const objects = world.objects.get(name) ?? [];
  switch (what) {
    case 'objects': {
      // Two pages for large sets, so that the page has to read on.
      const from = Number(query.get('after') ?? 0);
      const to = from + 6000;
      const next = to < objects.length ? { next: String(to) } : {};
      return only({ objects: objects.slice(from, to), total: objects.length, ...next });
    }
    case 'object': {
      const found = objects.find((each) => each.host === query.get('host') && each.address === query.get('address'));
      if (found === undefined) throw noSuch('The object');
      const suspensions = world.overview.sets
        .flatMap((set) => set.suspensions)
        .filter((each) => each.address === found.address);
      return only({ ...world.detail(found), suspensions });
    }
    case 'drift':
      return only(world.drift.get(name) ?? []);
    case 'history':
      return only(world.history.get(name) ?? []);
    default:
      throw noSuch(what);
  }
}

function change(world: PageWorld, set: SetStatus, what: string, body: unknown): Answer {
  switch (what) {
    case 'sync':
      return begin(world, set, 'sync', (body as SyncRequest).reason, set.revision);
    case 'prune':
      return begin(world, set, 'resync', `prune approved: ${(body as PruneRequest).reason}`, set.revision);
    case 'approve': {
      const { approvalGate: _given, ...rest } = set;
      return { answer: {}, events: [replaceSet(world, rest)] };
    }
    case 'rollback':
      return begin(world, set, 'rollback', (body as RollbackRequest).reason, (body as RollbackRequest).revision);
    case 'suspend': {
      const asked = body as SuspendRequest;
      if (asked.reason === 'refuse') throw new Refusal(409, 'Another suspension covers it already.');
      const id = `s${Date.now()}`;
      const suspension: Suspension = { ...asked, id, set: set.name, by: 'ada', since: new Date().toISOString() };
      return {
        answer: suspension,
        events: [replaceSet(world, { ...set, suspensions: [...set.suspensions, suspension] })],
      };
    }
    case 'resume': {
      const { id } = body as ResumeRequest;
      const ended = set.suspensions.filter((each) => id === undefined || each.id === id);
      const suspensions = set.suspensions.filter((each) => !ended.includes(each));
      const event = replaceSet(world, { ...set, status: 'synced', suspensions });
      return { answer: { resumed: ended.map((each) => each.id) }, events: [event] };
    }
    case 'preview': {
      const { ref } = body as { ref: string };
      if (ref === 'no-such-branch') throw new Refusal(404, 'The source has no branch, tag or revision no-such-branch.');
      return only(world.preview(ref));
    }
    default:
      throw noSuch(what);
  }
}

function begin(
  world: PageWorld,
  set: SetStatus,
  kind: 'sync' | 'resync' | 'rollback',
  reason: string | undefined,
  revision: string | undefined,
): Answer {
  const operation: Operation = {
    id: `o${Date.now()}`,
    set: set.name,
    kind,
    status: 'running',
    startedAt: new Date().toISOString(),
    ...(revision !== undefined && { revision }),
    by: 'ada',
    ...(reason !== undefined && { message: reason }),
    hosts: set.hosts.map(({ host }) => ({
      host,
      status: 'running',
      steps: { total: 4, done: 1, failed: 0 },
      current: [],
    })),
  };
  world.operations = [operation, ...world.operations];
  const events: ControllerEvent[] = [replaceSet(world, { ...set, status: 'syncing' }), { type: 'run', operation }];
  return { answer: operation, events };
}

export function replaceSet(world: PageWorld, set: SetStatus): ControllerEvent {
  const sets = world.overview.sets.map((each) => (each.name === set.name ? set : each));
  world.overview = { ...world.overview, sets };
  return { type: 'set', set };
}
