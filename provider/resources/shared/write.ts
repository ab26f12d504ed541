// The writes of resources: wait for operations, create objects that must not exist yet, change objects under the ETag of the plan.
import type { Reply } from '../../../server/client/transport/reply.ts';
import {
  ClientError,
  hasUnknownOutcome as isOutcomeUnknown,
  isNotFound,
  isPreconditionFailed,
  isRefused,
} from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import type { Link } from '../../connection/link.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import { versionKey, type Context, type CreateContext, type PrivateData } from '../../framework/object-type.ts';
import { equalValues, type Value } from '../../framework/value.ts';

const attempts = 5;
const busyPauseMs = 250;
const overloadPauseMs = 500;

/** True if the request may have taken effect without an answer; only reading the object shows it. */
export const hasUnknownOutcome = (error: unknown): boolean =>
  !(error instanceof ClientError) || isOutcomeUnknown(error);

/** Sends a request and waits for the operation that it may start. Retries while another operation runs on the object. */
export const perform = <T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<Reply<T>> =>
  context.client.activity.during(() => attempt(context, begin));

/** After this long without a write, no other object of this apply will free a name. */
const freeingMs = 2_000;
const longestFreeingMs = 60_000;

/**
 * The same for a request that needs a free name. Retries as long as this provider changes other objects, because Terraform renames and
 * deletes at once what does not refer to each other: the object that has the name may be about to leave it.
 */
export async function performNaming<T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<Reply<T>> {
  const { activity } = context.client;
  const startedMs = Date.now();
  for (;;) {
    try {
      return await activity.during(() => attempt(context, begin), isTaken);
    } catch (error) {
      if (!isTaken(error)) throw error;
      const waitedMs = Date.now() - startedMs;
      if (Math.min(activity.quietMs(), waitedMs) >= freeingMs || waitedMs >= longestFreeingMs) throw error;
      await pause(busyPauseMs, context.signal);
    }
  }
}

const isTaken = (error: unknown): boolean => isRefused(error, 'exists');

async function attempt<T>(context: Context<Link>, begin: () => Promise<Reply<T>>): Promise<Reply<T>> {
  const { client, reader } = context.client;
  reader.written();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.operations.run(begin, context.signal);
    } catch (error) {
      context.signal.throwIfAborted();
      // A busy database failed the operation, which the server undoes.
      const isOverloaded = isRefused(error, 'overloaded') && attempt <= 5;
      if (!isOverloaded && (!isRefused(error, 'busy') || attempt >= 40)) throw error;
      await pause(isOverloaded ? overloadPauseMs * 2 ** attempt : busyPauseMs, context.signal);
    }
  }
}

/**
 * Creates an object. After the request it may exist, unless the server refused it. One that was there before is somebody else's: a state
 * with it would have the next apply delete it.
 */
export async function performCreate<T>(
  context: CreateContext<Link>,
  begin: () => Promise<Reply<T>>,
): Promise<Reply<T>> {
  // Each read is a request of its own from now on.
  context.client.reader.written();
  const wasThere = await context.wasThere();
  let isAccepted = false;
  const noted = async (): Promise<Reply<T>> => {
    isAccepted = false;
    const reply = await begin();
    isAccepted = true;
    return reply;
  };
  try {
    const reply = await performNaming(context, noted);
    context.mayExist();
    return reply;
  } catch (error) {
    // The server continues the operation even if the client loses its result.
    const isUnknown = isAccepted ? !hasEnded(error) : hasUnknownOutcome(error);
    if (context.signal.aborted || isUnknown) keepUnlessThere(context, wasThere);
    throw error;
  }
}

function keepUnlessThere(context: CreateContext<Link>, wasThere: boolean): void {
  if (!wasThere) return context.mayExist();
  const detail =
    'So it is probably not from this apply, and the state does not keep it. To manage it, import it; otherwise choose another name.';
  context.warn(warning('An object of this name existed before the creation', detail));
}

/**
 * The same for what the server does not create as an object of its own, and others may have written before: after a refusal the state
 * does not keep it, since the next apply would first remove what was there.
 */
export async function performFirst(context: CreateContext<Link>, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (context.signal.aborted || (!(error instanceof DiagnosticError) && hasUnknownOutcome(error))) context.mayExist();
    throw error;
  }
  context.mayExist();
}

/** True when the operation itself ended with an error. */
const hasEnded = (error: unknown): boolean =>
  error instanceof ClientError && (error.code === 'operationFailed' || error.code === 'operationCancelled');

const inUse = (error: unknown): unknown =>
  error instanceof ClientError && error.code !== 'inUse' ? error.withMessage(error.message, 'inUse') : error;

/** gantryd sends a code, LXD only a text. */
const isInUse = (error: unknown): boolean =>
  isRefused(error, 'inUse') || (error instanceof ClientError && error.code === 'inUse');

/** After this long without a write, no update of this apply will end the use. */
const quietMs = 5_000;

/**
 * Deletes an object; a missing one counts as deleted. Retries an object in use as long as this provider changes other objects, because
 * Terraform may delete it in parallel with the update that ends the use.
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

/** Saves the ETag under which the state was read; clears it when the object came from a list. */
export function keepEtag(privateData: PrivateData, seen: { readonly etag?: string }): void {
  if (seen.etag === undefined) delete privateData[versionKey];
  else privateData[versionKey] = seen.etag;
}

export interface Edit<O, B> {
  /** For messages: `profile "web"`. */
  readonly what: string;
  readonly get: () => Promise<Reply<O>>;
  readonly put: (body: B, ifMatch: string | undefined) => Promise<Reply<unknown>>;
  readonly body: (live: O) => B;
  /** The differences of the live object from the state of the plan; the edit calls it when the ETag does not match. */
  readonly changedSince: (live: O) => readonly string[];
}

/** Writes the live object with the planned members. Throws when someone else changed those members since the plan. */
export async function edit<O, B>(
  context: Context<Link>,
  { what, get, put, body, changedSince }: Edit<O, B>,
): Promise<O> {
  for (let attempt = 1; ; attempt += 1) {
    const { metadata: live, etag } = await get();
    const isAsPlanned = etag !== undefined && etag === context.privateData[versionKey];
    const changed = isAsPlanned ? [] : changedSince(live);
    if (changed.length > 0) throw changedSincePlan(what, changed);
    try {
      await perform(context, () => put(body(live), etag));
      return live;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isPreconditionFailed(error) || attempt >= attempts) throw error;
    }
  }
}

interface Born {
  readonly created_at: string | null;
}

/** Throws DiagnosticError when an object that is to be deleted is another one of its name than at the plan. */
export function checkPlanned(what: string, planned: Born, live: Born): void {
  if (planned.created_at === null || planned.created_at === live.created_at) return;
  const detail = `It was made after the plan, in place of the one that the plan deletes. Nothing was deleted. Plan again and review what the plan would delete.`;
  throw new DiagnosticError([failure(`The ${what} is another one than at the plan`, detail)]);
}

const changedSincePlan = (what: string, changed: readonly string[]): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The ${what} has changed since the plan`,
      `Someone else changed ${changed.join(', ')}. Nothing was written. Plan again and review the changes that the plan would undo.`,
    ),
  ]);

/** Names of the configurable members that differ. */
export const differing = <S extends object>(
  a: S,
  b: Partial<S>,
  names: readonly (keyof S & string)[],
): readonly string[] =>
  names.filter((name) => name in b && !equalValues((a[name] ?? null) as Value, (b[name] ?? null) as Value));

/** Names of the members that equal neither the former nor the planned value: a rename also changes the users of the object. */
export function conflicting<S extends object>(
  { prior, planned }: { readonly prior: S; readonly planned: S },
  read: (state: S) => Partial<S>,
  names: readonly (keyof S & string)[],
): readonly string[] {
  const unwanted = differing(planned, read(planned), names);
  return differing(prior, read(prior), names).filter((name) => unwanted.includes(name));
}

type ObjectOf<K extends KindName> = KindTypes[K]['object'];

/** Edits an object of a kind that the client knows. */
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
