// Containers as objects, through the API of the members of a cluster: what is written is the description, and the place is a member.
import type { Answer } from '../../support/daemons/daemon.ts';
import type { Member } from '../../support/cluster/three-members.ts';
import type { Shown, Target } from './clients.ts';
import type { Answered, Seen } from './history.ts';

/** What a request was answered: 'lost' when the connection broke or nothing came in time, 'never' when there was no connection. */
type Reply = Answer | 'lost' | 'never';
/** An operation that failed, and why. */
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
      // The member says itself that the store does not answer, and that what it shows may be old.
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
      // A move whose operation fails leaves the container where it was, unless it says that it does not know.
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

/** `isRefusal`: an answer that says that the object was not in the needed state. */
function outcomeOf(reply: Reply | Undone, isRefusal: (reply: Answer) => boolean): Answered {
  if (reply === 'never') return { outcome: 'failed' };
  // The member may have been killed while it was being made: others show it until the member is back and undoes that.
  if (reply === 'lost') return { outcome: 'unknown', isUndone: true };
  if ('undone' in reply) {
    // Somebody else was faster.
    if (/already exists|was not found/.test(reply.undone)) return { outcome: 'refused' };
    // Nothing was done to it where it was, nor where it is now.
    if (reply.undone.includes('moved to another member')) return { outcome: 'failed' };
    // It may have been seen before it was undone.
    return { outcome: 'unknown', isUndone: true };
  }
  if (isRefusal(reply)) return { outcome: 'refused' };
  if (reply.status < 300) return { outcome: 'ok' };
  return { outcome: reply.status < 500 || isNeverSent(reply) ? 'failed' : 'unknown' };
}

const isMarkedStale = ({ headers }: Answer): boolean => headers['x-svc-stale'] === 'true';

const textOf = ({ bytes }: Answer): string => bytes.toString();

/** The member that was asked had no connection to the one that has the object. */
const isNeverSent = (reply: Answer): boolean => textOf(reply).includes('ECONNREFUSED');

/** A request that comes to nothing continues behind the back of its client; its outcome is unknown then. */
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
