// Decides whether the answers about one object fit any order of its operations in which each takes effect between its call and its
// answer. Pure: follows all orders at once, from answer to answer, and names the first answer that fits none of them.
import { assertNever } from '../../../server/lib/shared/assert-never.ts';
import { describeEntry, describeSeen, type Entry, type Seen } from './history.ts';

/** A possible past: the state, and the operations without an answer yet that have taken effect in it. */
interface Past {
  readonly state: Seen;
  readonly done: ReadonlySet<number>;
}

export type Verdict =
  | { readonly fits: true }
  | { readonly fits: false; readonly entry: Entry; readonly why: string }
  /** There are too many possible pasts to check all. */
  | { readonly fits: undefined };

export const maxPasts = 50_000;

export function linearize(entries: readonly Entry[], limit = maxPasts): Verdict {
  const asked = entries.filter(({ outcome }) => outcome !== 'failed');
  const points = asked
    .flatMap((entry, id) => [
      { id, at: entry.start, isAnswer: false },
      ...(entry.outcome === 'unknown' ? [] : [{ id, at: entry.end, isAnswer: true }]),
    ])
    // At the same moment both operations were open: calls come first.
    .toSorted((a, b) => a.at - b.at || Number(a.isAnswer) - Number(b.isAnswer));
  const open = new Set<number>();
  let pasts: readonly Past[] = [{ state: undefined, done: new Set() }];
  for (const { id, isAnswer } of points) {
    if (!isAnswer) {
      open.add(id);
      continue;
    }
    const next = after(pasts, id, open, asked, limit);
    if (next === undefined) return { fits: undefined };
    const entry = asked[id]!;
    if (next.length === 0) return { fits: false, entry, why: explain(entry, pasts) };
    open.delete(id);
    pasts = next;
  }
  return { fits: true };
}

/** The pasts in which operation `id` has taken effect, after any of the open ones. */
function after(
  pasts: readonly Past[],
  id: number,
  open: ReadonlySet<number>,
  asked: readonly Entry[],
  limit: number,
): readonly Past[] | undefined {
  const seen = new Set<string>();
  const found = new Map<string, Past>();
  const todo = [...pasts];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const past = withNeutral(next, open, asked);
    const key = keyOf(past);
    if (seen.has(key)) continue;
    seen.add(key);
    if (seen.size > limit) return undefined;
    if (past.done.has(id)) {
      const rest = { state: past.state, done: without(past.done, id) };
      found.set(keyOf(rest), rest);
      continue;
    }
    for (const other of open) {
      if (past.done.has(other)) continue;
      const entry = asked[other]!;
      const state = apply(past.state, entry);
      if (state === 'impossible' || state.now === past.state) continue;
      todo.push({ state: state.now, done: canRecur(entry) ? new Set([...past.done, other]) : past.done });
    }
  }
  return [...found.values()];
}

/** Reads and refusals that fit the state take effect at once, which excludes no order. */
function withNeutral({ state, done }: Past, open: ReadonlySet<number>, asked: readonly Entry[]): Past {
  const neutral = [...open].filter((id) => {
    const entry = asked[id]!;
    if (done.has(id) || entry.outcome === 'unknown') return false;
    const next = apply(state, entry);
    return next !== 'impossible' && next.now === state;
  });
  return neutral.length === 0 ? { state, done } : { state, done: new Set([...done, ...neutral]) };
}

/** An unanswered conditional action fits at most once, since no content occurs twice. */
const canRecur = ({ outcome, action }: Entry): boolean =>
  outcome !== 'unknown' || (action.type !== 'update' && action.type !== 'delete') || action.from === undefined;

/** The state after the entry; impossible if its answer contradicts the state before. */
export function apply(state: Seen, { action, outcome }: Entry): { readonly now: Seen } | 'impossible' {
  const isPossible = isAllowed(state, action);
  if (outcome === 'refused') return isPossible ? 'impossible' : { now: state };
  if (!isPossible) return outcome === 'unknown' ? { now: state } : 'impossible';
  switch (action.type) {
    case 'create':
      return { now: { value: action.value, ...(action.on === undefined ? {} : { on: action.on }) } };
    case 'update':
      return { now: { ...state, value: action.value } };
    case 'delete':
      return { now: undefined };
    case 'move':
      return { now: { value: state?.value ?? '', on: action.on } };
    case 'read':
      return {
        now: state !== undefined && state.on === undefined && action.saw?.on !== undefined ? action.saw : state,
      };
    default:
      return assertNever(action);
  }
}

function isAllowed(state: Seen, action: Entry['action']): boolean {
  switch (action.type) {
    case 'create':
      return state === undefined;
    case 'update':
    case 'delete':
      return state !== undefined && (action.from === undefined || action.from === state.value);
    case 'move':
      return state !== undefined && state.on !== action.on;
    case 'read':
      return isShown(state, action.saw);
    default:
      return assertNever(action);
  }
}

/** A place that the server chose is unknown until the first read shows it. */
const isShown = (state: Seen, saw: Seen): boolean =>
  state === undefined || saw === undefined
    ? state === saw
    : state.value === saw.value && (state.on === undefined || saw.on === undefined || state.on === saw.on);

const without = (all: ReadonlySet<number>, id: number): ReadonlySet<number> =>
  new Set([...all].filter((other) => other !== id));

const keyOf = ({ state, done }: Past): string => `${describeSeen(state)} ${[...done].sort((a, b) => a - b).join(' ')}`;

function explain(entry: Entry, pasts: readonly Past[]): string {
  const states = [...new Set(pasts.map(({ state }) => describeSeen(state)))];
  return `${describeEntry(entry)} was answered "${entry.outcome}", which fits no order of the operations: before it the state was ${states.join(' or ')}`;
}
