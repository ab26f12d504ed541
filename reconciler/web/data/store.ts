// The data of the page: session, overview, operations, log lines and drift, read once and then kept current by events.
import { batch, computed, signal } from '@preact/signals';
import type {
  ControllerEvent,
  DriftRecord,
  LogLine,
  Operation,
  Overview,
  Right,
  Session,
  SetStatus,
} from '../../controller/contract/index.ts';
import { api, reasonOf, rememberSession } from './api.ts';
import { followEvents } from './events.ts';
import { isOfOneHost } from './one-host.ts';
import { objects, readObjects, takeObjectNews, type ObjectNews } from './objects.ts';

export const session = signal<Session | undefined>(undefined);
export const sessionError = signal<string | undefined>(undefined);
export const overview = signal<Overview | undefined>(undefined);
export const overviewError = signal<string | undefined>(undefined);
/** Newest first. */
export const operations = signal<readonly Operation[]>([]);
/** Lines that arrived as events, oldest first. */
export const newLogLines = signal<readonly LogLine[]>([]);
/** Drift that arrived as events, newest first. */
export const newDrift = signal<readonly { readonly set: string; readonly drift: DriftRecord }[]>([]);
/** Grows when events may have been lost: views read their data again. */
export const generation = signal(0);
/** Grows with every run that begins or ends: histories are read again. */
export const runsSeen = signal(0);

export const canView = computed(() => session.value?.role !== undefined);
/** Whether the role, or a grant for all hosts of the set, has this right. The set of gantry ui has no source, so it allows nothing. */
export const may = (right: Right, set: string): boolean =>
  (session.value?.role === 'operate' && !isOneHost(set)) ||
  session.value?.may?.some((one) => one.set === set && one.rights.includes(right)) === true;
export const canUseConsole = computed(() => session.value?.console === true);

/** Whether the page is that of gantry ui. */
export const isAlone = computed(() => overview.value?.sets.some(isOfOneHost) === true);

function isOneHost(name: string): boolean {
  const set = setOf(name);
  return set !== undefined && isOfOneHost(set);
}

const maxLogLines = 2000;
const maxDrift = 1000;
const maxOperations = 200;
let stopEvents: (() => void) | undefined;

export function setOf(name: string): SetStatus | undefined {
  return overview.value?.sets.find((set) => set.name === name);
}

export async function readSession(): Promise<void> {
  try {
    beginSession(await api.session());
  } catch (error) {
    sessionError.value = reasonOf(error);
  }
}

export function beginSession(next: Session): void {
  rememberSession(next, endSession);
  batch(() => {
    session.value = next;
    sessionError.value = undefined;
  });
  stopEvents?.();
  stopEvents = undefined;
  if (next.role === undefined) return;
  stopEvents = followEvents({ take: takeEvents, reset: readAgain, lost: () => void readOperations() });
  void readOverview();
  void readOperations();
}

/** Forgets everything of the session that has ended and asks how to log in. */
export function endSession(): void {
  if (session.peek()?.role === undefined) return;
  stopEvents?.();
  stopEvents = undefined;
  batch(() => {
    session.value = undefined;
    overview.value = undefined;
    operations.value = [];
    newLogLines.value = [];
    newDrift.value = [];
    objects.value = { set: '', entries: [], isLoading: false, shape: objects.peek().shape + 1 };
  });
  void readSession();
}

export async function readOverview(): Promise<void> {
  try {
    const next = await api.overview();
    batch(() => {
      overview.value = next;
      overviewError.value = undefined;
    });
  } catch (error) {
    overviewError.value = reasonOf(error);
  }
}

async function readOperations(): Promise<void> {
  operations.value = await api.operations().catch(() => operations.peek());
}

function readAgain(): void {
  generation.value++;
  void readOverview();
  void readOperations();
  const { set } = objects.peek();
  if (set !== '') void readObjects(set);
}

export function takeEvents(events: readonly ControllerEvent[]): void {
  const objectNews: ObjectNews[] = [];
  const lines: LogLine[] = [];
  const drift: { set: string; drift: DriftRecord }[] = [];
  let now = overview.peek();
  batch(() => {
    for (const event of events) {
      switch (event.type) {
        case 'set':
          if (now) now = { ...now, sets: replaced(now.sets, event.set, sameName) };
          break;
        case 'host':
          if (now) now = { ...now, hosts: replaced(now.hosts, event.host, sameName) };
          break;
        case 'source':
          if (now) now = { ...now, sources: replaced(now.sources, event.source, sameName) };
          break;
        case 'object':
          objectNews.push(event);
          break;
        case 'drift':
          drift.unshift(event);
          break;
        case 'run':
          takeOperation(event.operation);
          break;
        case 'log':
          lines.push(event.line);
          break;
        case 'reset':
          break;
      }
    }
    if (now !== overview.peek()) overview.value = now;
    if (objectNews.length > 0) takeObjectNews(objectNews);
    if (lines.length > 0) newLogLines.value = [...newLogLines.peek(), ...lines].slice(-maxLogLines);
    if (drift.length > 0) newDrift.value = [...drift, ...newDrift.peek()].slice(0, maxDrift);
  });
}

export function takeOperation(operation: Operation): void {
  const before = operations.peek().find(({ id }) => id === operation.id);
  operations.value = before
    ? replaced(operations.peek(), operation, (a, b) => a.id === b.id)
    : [operation, ...operations.peek()].slice(0, maxOperations);
  if (before?.status !== operation.status) runsSeen.value++;
}

const sameName = (a: { readonly name: string }, b: { readonly name: string }): boolean => a.name === b.name;

/** The list with `item` in the place of the one that is the same, or at its end. */
function replaced<T>(list: readonly T[], item: T, isSame: (a: T, b: T) => boolean): readonly T[] {
  const at = list.findIndex((each) => isSame(each, item));
  return at < 0 ? [...list, item] : list.with(at, item);
}
