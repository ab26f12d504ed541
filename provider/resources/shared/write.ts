// How resources write: waiting for operations, creating what must not exist yet, changing under the ETag of the plan.
import type { Reply } from '../../../server/client/transport/reply.ts';
import {
  ClientError,
  isNotFound,
  isPreconditionFailed,
  isRefused,
  remedyFor,
} from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';
import type { Context, CreateContext, PrivateData } from '../../framework/object-type.ts';
import { equalValues, type Value } from '../../framework/value.ts';

const attempts = 5;
const busyPauseMs = 250;

/** The request may have taken effect although no answer came: only reading the object tells. */
export function hasUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof ClientError)) return true;
  return error.code === 'operationLost' || (error.status === 0 && remedyFor(error, false) === 'reread');
}

/** Sends a request and waits for the operation it may start; again while something else is at work on the object. */
export const perform = <T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<Reply<T>> =>
  context.client.activity.during(() => attempt(context, begin));

async function attempt<T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<Reply<T>> {
  const { client, reader } = context.client;
  reader.written();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.operations.run(begin, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isRefused(error, 'busy') || attempt >= 40) throw error;
      await pause(busyPauseMs, context.signal);
    }
  }
}

/** Creates an object: from the request on it may exist, unless the server refused it. */
export async function performCreate<T>(
  context: CreateContext<Link>,
  begin: () => Promise<Reply<T>>,
): Promise<Reply<T>> {
  let isAccepted = false;
  const noted = async (): Promise<Reply<T>> => {
    isAccepted = false;
    const reply = await begin();
    isAccepted = true;
    return reply;
  };
  try {
    const reply = await perform(context, noted);
    context.mayExist();
    return reply;
  } catch (error) {
    // The server goes on with the operation, also when its end does not reach us.
    const isUnknown = isAccepted ? !hasEnded(error) : hasUnknownOutcome(error);
    if (context.signal.aborted || isUnknown) context.mayExist();
    throw error;
  }
}

/** The operation has ended with an error of its own. */
const hasEnded = (error: unknown): boolean =>
  error instanceof ClientError && (error.code === 'operationFailed' || error.code === 'operationCancelled');

const inUse = (error: unknown): unknown =>
  error instanceof ClientError && error.code !== 'inUse' ? error.withMessage(error.message, 'inUse') : error;

/** gantryd has a code for it, LXD only a text. */
const isInUse = (error: unknown): boolean =>
  isRefused(error, 'inUse') || (error instanceof ClientError && error.code === 'inUse');

/** When nothing has been written for so long, no update comes that ends a use. */
const quietMs = 5_000;

/**
 * For operations that take an object away: one that is gone is gone. One that is in use is tried again as long as this provider
 * changes other objects, for Terraform may delete it beside the update that ends the use.
 */
export async function performDelete<T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<void> {
  const { activity } = context.client;
  const startedMs = Date.now();
  for (;;) {
    try {
      await attempt(context, begin);
      await activity.during(() => Promise.resolve());
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isInUse(error)) throw error;
      if (Math.min(activity.quietMs(), Date.now() - startedMs) >= quietMs) throw inUse(error);
      await pause(busyPauseMs, context.signal);
    }
  }
}

/** Remembers the ETag under which the state was read; forgets it when it was read with others. */
export function keepEtag(privateData: PrivateData, seen: { readonly etag?: string }): void {
  if (seen.etag === undefined) delete privateData['etag'];
  else privateData['etag'] = seen.etag;
}

export interface Edit<O, B> {
  /** For messages: `profile "web"`. */
  readonly what: string;
  readonly get: () => Promise<Reply<O>>;
  readonly put: (body: B, ifMatch: string | undefined) => Promise<Reply<unknown>>;
  readonly body: (live: O) => B;
  /** What of the live object is not as the plan was made for, given no ETag says so. */
  readonly changedSince: (live: O) => readonly string[];
}

/** Replaces an object by what is live with our part in it. Throws when someone else changed our part since the plan. */
export async function edit<O, B>(
  context: Context<Link>,
  { what, get, put, body, changedSince }: Edit<O, B>,
): Promise<O> {
  for (let attempt = 1; ; attempt += 1) {
    const { metadata: live, etag } = await get();
    const isAsPlanned = etag !== undefined && etag === context.privateData['etag'];
    const changed = isAsPlanned || attempt > 1 ? [] : changedSince(live);
    if (changed.length > 0) throw changedMeanwhile(what, changed);
    try {
      await perform(context, () => put(body(live), etag));
      return live;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isPreconditionFailed(error) || attempt >= attempts) throw error;
    }
  }
}

const changedMeanwhile = (what: string, changed: readonly string[]): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The ${what} was changed since the plan was made`,
      `Someone else changed ${changed.join(', ')}. Nothing was written; plan again and look at what that would undo.`,
    ),
  ]);

/** Names of the members that differ, of those that users configure. */
export const differing = <S extends object>(
  a: S,
  b: Partial<S>,
  names: readonly (keyof S & string)[],
): readonly string[] =>
  names.filter((name) => name in b && !equalValues((a[name] ?? null) as Value, (b[name] ?? null) as Value));

/** Names of the members that someone else made other than what was and than what is wanted: a rename changes its users by itself. */
export function conflicting<S extends object>(
  { prior, planned }: { readonly prior: S; readonly planned: S },
  read: (state: S) => Partial<S>,
  names: readonly (keyof S & string)[],
): readonly string[] {
  const unwanted = differing(planned, read(planned), names);
  return differing(prior, read(prior), names).filter((name) => unwanted.includes(name));
}

type ObjectOf<K extends KindName> = KindTypes[K]['object'];

/** The edit of an object of a kind that the client knows. */
export const editOf = <K extends KindName>(
  context: Context<Link>,
  kind: K,
  name: string,
  change: Pick<Edit<ObjectOf<K>, KindTypes[K]['put']>, 'body' | 'changedSince'>,
): Edit<ObjectOf<K>, KindTypes[K]['put']> => {
  const { client } = context.client;
  return {
    what: `${kind.replaceAll('_', ' ')} ${JSON.stringify(name)}`,
    get: () => client.get(kind, name, context.signal),
    put: (body, ifMatch) => client.put(kind, name, body, ifMatch === undefined ? {} : { ifMatch }, context.signal),
    ...change,
  };
};
