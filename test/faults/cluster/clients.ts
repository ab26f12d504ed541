// Clients that work on a few objects through all members of a cluster at once, and record the answers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import { type Answered, isWrite, type Recorder, type Seen } from './history.ts';

/** The state that a client saw, with its ETag for conditional updates. */
export type Shown =
  | { readonly outcome: 'ok'; readonly saw: Seen; readonly tag?: string }
  | { readonly outcome: 'unknown' };

/** The requests of clients to a cluster. Faults are outcomes, not exceptions. */
export interface Target {
  readonly members: readonly string[];
  read(member: string, object: string): Promise<Shown>;
  /** Each object as often as the list contains it; undefined without an answer. */
  list(member: string): Promise<ReadonlyMap<string, readonly Exclude<Seen, undefined>[]> | undefined>;
  create(member: string, object: string, value: string): Promise<Answered>;
  update(member: string, object: string, value: string, tag: string): Promise<Answered>;
  delete(member: string, object: string): Promise<Answered>;
  /** Absent where objects have no place. */
  move?(member: string, object: string, to: string): Promise<Answered>;
}

export interface Work {
  readonly target: Target;
  readonly recorder: Recorder;
  readonly random: Random;
  readonly objects: readonly string[];
  readonly clients: number;
}

/** Each kind of request and how often it is sent, of 100. */
const shares = { update: 50, read: 22, list: 6, delete: 8, move: 14 } as const;

/** Clients work until `over` aborts; resolves after the last answer. */
export async function startClients(work: Work, over: AbortSignal): Promise<void> {
  let values = 0;
  const nextValue = (): string => `v${(values += 1)}`;
  const running = Array.from({ length: work.clients }, async (_, client) => {
    while (!over.aborted) {
      const isAnswered = await oneRequest(work, client, nextValue);
      // A member that is down refuses at once.
      if (!isAnswered) await sleep(20);
    }
  });
  await Promise.all(running);
}

/** False when the member did not answer. */
async function oneRequest(work: Work, client: number, nextValue: () => string): Promise<boolean> {
  const { target, recorder, random } = work;
  const member = memberFor(work, client);
  const object = pick(work.objects, random);
  const about = { client, member, object };
  const kind = pickKind(random);
  if (kind === 'list') {
    await recorder.recordList({ client, member }, work.objects, () => target.list(member));
    return true;
  }
  if (kind === 'delete') {
    await recorder.record({ ...about, action: { type: 'delete' } }, () => target.delete(member, object));
  } else {
    const shown = await readOnce(work, about);
    if (shown.outcome === 'unknown' || kind === 'read') return shown.outcome === 'ok';
    // The ETag is valid at every member.
    const asked = { ...about, member: memberFor(work, client) };
    if (shown.saw === undefined) {
      const value = nextValue();
      await recorder.record({ ...asked, action: { type: 'create', value } }, () =>
        target.create(asked.member, object, value),
      );
    } else if (kind === 'move' && target.move !== undefined) {
      const on = pick(target.members, random);
      const move = target.move.bind(target);
      await recorder.record({ ...asked, action: { type: 'move', on } }, () => move(asked.member, object, on));
    } else {
      const [value, tag] = [nextValue(), shown.tag ?? ''];
      await recorder.record({ ...asked, action: { type: 'update', value, from: shown.saw.value } }, () =>
        target.update(asked.member, object, value, tag),
      );
    }
  }
  // Every member must show an acknowledged change.
  return (await readOnce(work, { ...about, member: memberFor(work, client) })).outcome === 'ok';
}

async function readOnce(
  { target, recorder }: Work,
  about: { readonly client: number; readonly member: string; readonly object: string },
): Promise<Shown> {
  let shown: Shown = { outcome: 'unknown' };
  await recorder.record({ ...about, action: { type: 'read', saw: undefined } }, async () => {
    shown = await target.read(about.member, about.object);
    return shown.outcome === 'ok'
      ? { outcome: 'ok', action: { type: 'read', saw: shown.saw } }
      : // A read without an answer has changed nothing.
        { outcome: 'failed' };
  });
  return shown;
}

/** Two of three clients use one member only, so that work continues on healthy members; the others use all members. */
const memberFor = ({ target: { members }, random }: Work, client: number): string =>
  client % 3 === 2 ? pick(members, random) : members[Math.floor(client / 3) % members.length]!;

/** Acknowledged changes so far. */
export const acknowledged = ({ entries }: Recorder): number =>
  entries.filter((entry) => isWrite(entry) && entry.outcome === 'ok').length;

export const pick = <T>(all: readonly T[], random: Random): T => all[Math.floor(random.next() * all.length)]!;

function pickKind(random: Random): keyof typeof shares {
  let point = random.next() * 100;
  for (const [kind, share] of Object.entries(shares)) {
    point -= share;
    if (point < 0) return kind as keyof typeof shares;
  }
  return 'read';
}
