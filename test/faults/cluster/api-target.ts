// Uses containers as objects through the API of cluster members: the content is the description, the place is a member.
import type { Answer } from '../../support/daemons/daemon.ts';
import type { Member } from '../../support/cluster/three-members.ts';
import type { Shown, Target } from './clients.ts';
import type { Answered, Seen } from './history.ts';

/** The answer to a request: 'lost' if the connection broke or timed out, 'never' if there was no connection. */
type Reply = Answer | 'lost' | 'never';
/** The reason of a failed operation. */
interface Undone {
  readonly undone: string;
}

const patienceMs = 10_000;

export function apiTarget(members: readonly Member[]): Target {
  const ask = (name: string, method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const { gantryd } = members.find((member) => member.name === name)!;
    return replyOf(gantryd.call(method, path, body, headers));
  };
  /** Sends, and waits for the operation at the same member. */
  const settle = async (
    name: string,
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Reply | Undone> => {
    const reply = await ask(name, method, path, body, headers);
    if (typeof reply === 'string' || reply.status !== 202) return reply;
    const ended = await ask(name, 'GET', String(reply.body.operation).replace(/(\?|$)/, '/wait$1'));
    if (typeof ended === 'string' || ended.status !== 200) return 'lost';
    const { status, err } = ended.metadata as { readonly status: string; readonly err: string };
    return status === 'Success' ? ended : { undone: err };
  };
  return {
    members: members.map(({ name }) => name),
    read: async (name, object): Promise<Shown> => {
      const reply = await ask(name, 'GET', path(object));
      if (typeof reply === 'string') return { outcome: 'unknown' };
      // The member marks its answer as stale, since the store does not answer.
      if (isMarkedStale(reply)) return { outcome: 'unknown' };
      if (reply.status === 404) return { outcome: 'ok', saw: undefined };
      if (reply.status !== 200) return { outcome: 'unknown' };
      return { outcome: 'ok', saw: seenOf(reply.metadata as Container), tag: reply.headers.etag ?? '' };
    },
    list: async (name) => {
      const reply = await ask(name, 'GET', '/1.0/containers?recursion=1');
      if (typeof reply === 'string' || reply.status !== 200 || isMarkedStale(reply)) return undefined;
      const found = new Map<string, Exclude<Seen, undefined>[]>();
      for (const container of reply.metadata as Container[]) {
        found.set(container.name, [...(found.get(container.name) ?? []), seenOf(container)]);
      }
      return found;
    },
    create: async (name, object, value) =>
      outcomeOf(
        await settle(name, 'POST', '/1.0/containers', { name: object, description: value, source: { type: 'none' } }),
        (reply) => reply.status === 409,
      ),
    update: async (name, object, value, tag) =>
      outcomeOf(await settle(name, 'PATCH', path(object), { description: value }, { 'if-match': tag }), (reply) =>
        [404, 412].includes(reply.status),
      ),
    delete: async (name, object) =>
      outcomeOf(await settle(name, 'DELETE', path(object)), (reply) => reply.status === 404),
    move: async (name, object, to) => {
      const moved = await settle(name, 'POST', `${path(object)}?target=${to}`, { name: object, migration: true });
      // A failed move leaves the container where it was, unless its outcome is unknown.
      if (typeof moved !== 'string' && 'undone' in moved)
        return { outcome: moved.undone.includes('is not known') ? 'unknown' : 'failed' };
      return outcomeOf(moved, (reply) => reply.status === 404 || textOf(reply).includes(`on the member ${to} already`));
    },
  };
}

interface Container {
  readonly name: string;
  readonly description: string;
  readonly location: string;
}

const path = (object: string): string => `/1.0/containers/${object}`;
const seenOf = ({ description, location }: Container) => ({ value: description, on: location });

/** `isRefusal`: the answer means that the object was not in the needed state. */
function outcomeOf(reply: Reply | Undone, isRefusal: (reply: Answer) => boolean): Answered {
  if (reply === 'never') return { outcome: 'failed' };
  // The member may have been killed during the creation: others show the object until the member is back and undoes it.
  if (reply === 'lost') return { outcome: 'unknown', isUndone: true };
  if ('undone' in reply) {
    // Another client was faster.
    if (/already exists|was not found/.test(reply.undone)) return { outcome: 'refused' };
    // Nothing was done at the old place or at the new one.
    if (reply.undone.includes('moved to another member')) return { outcome: 'failed' };
    // Others may have seen it before it was undone.
    return { outcome: 'unknown', isUndone: true };
  }
  if (isRefusal(reply)) return { outcome: 'refused' };
  if (reply.status < 300) return { outcome: 'ok' };
  return { outcome: reply.status < 500 || isNeverSent(reply) ? 'failed' : 'unknown' };
}

const isMarkedStale = ({ headers }: Answer): boolean => headers['x-svc-stale'] === 'true';

const textOf = ({ bytes }: Answer): string => bytes.toString();

/** The contacted member had no connection to the member with the object. */
const isNeverSent = (reply: Answer): boolean => textOf(reply).includes('ECONNREFUSED');

/** A request without an answer may still be carried out, so its outcome is unknown. */
async function replyOf(asked: Promise<Answer>): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Reply>((resolve) => {
    timer = setTimeout(() => resolve('lost'), patienceMs);
  });
  const answered = asked.catch((error: NodeJS.ErrnoException): Reply =>
    error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'never' : 'lost',
  );
  try {
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
  }
}
