// Networks and pools of clusters: creates them on all members, and changes config of single members.
import type { KindName } from '../../../server/api/kinds.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import { dialectOf } from '../../../server/client/client.ts';
import type { Change } from '../../core/documents/change.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import { asText, mapOf } from '../../core/documents/json-values.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { sendAndWait, type StepContext } from './context.ts';
import { mayExist } from './existing.ts';
import { pauseIfOvertaken, refuseStale, staleIfGone } from './overtaken.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/**
 * `member_overrides` of the body names every member. gantryd takes the whole document; LXD gets a request for each member and then one
 * for the cluster. A member that has the object already, from an earlier run, counts as done.
 */
export async function createOnMembers(
  context: StepContext,
  kind: KindName,
  body: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  const { metadata: server } = await context.client.server(signal);
  if (dialectOf(server) === 'svc') {
    const document = body as unknown as KindTypes[KindName]['create'];
    await sendAndWait(context, () => context.client.create(kind, document, {}, signal), signal);
    return;
  }
  const { member_overrides: overrides, ...whole } = body;
  const send = (config: JsonObject, target?: string): Promise<unknown> => {
    const part = { ...whole, config } as unknown as KindTypes[KindName]['create'];
    const write = target === undefined ? {} : { target };
    return sendAndWait(context, () => context.client.create(kind, part, write, signal), signal);
  };
  for (const [member, config] of Object.entries(mapOf(overrides))) {
    context.onProgress(`telling ${member}`);
    await send(mapOf(config), member).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!mayExist(error)) throw error;
    });
  }
  context.onProgress('creating it on all members');
  await send(mapOf(body['config']));
  const [name, description] = [asText(body['name']), asText(body['description'])];
  if (description === '') return;
  // LXD ignores the description of a creation.
  const described = { description } as unknown as Partial<KindTypes[KindName]['put']>;
  await sendAndWait(context, () => context.client.patch(kind, name, described, {}, signal), signal);
}

export const isOfMember = ({ segments }: Change): boolean => segments[0] === 'member_overrides';

interface MemberEdits {
  readonly target: string;
  readonly edits: readonly Change[];
}

/** Returns the edits by member. Throws if someone changed what they edit. */
export async function readMembers(
  context: StepContext,
  step: UpdateStep,
  all: readonly Change[],
  signal: AbortSignal,
): Promise<readonly MemberEdits[]> {
  const names = new Set(all.map(({ segments }) => segments[1] ?? ''));
  const members = [...names].map((target) => ({ target, edits: all.filter(({ segments }) => segments[1] === target) }));
  for (const member of members) await readMember(context, step, member, signal);
  return members;
}

/** The ETag of the object on the member, and its description, which a change has to repeat: LXD would remove it. */
async function readMember(
  { client }: StepContext,
  step: UpdateStep,
  { target, edits }: MemberEdits,
  signal: AbortSignal,
): Promise<{ readonly etag: string | undefined; readonly repeated: { readonly description?: string } }> {
  const { metadata, etag } = await client.get(step.kind, step.name, signal, target).catch(staleIfGone);
  refuseStale(
    { member_overrides: { [target]: (metadata as { readonly config?: object }).config } },
    { ...step, edits },
  );
  const { description }: { readonly description?: string } = metadata as object;
  return { etag, repeated: description === undefined ? {} : { description } };
}

export async function updateMembers(
  context: StepContext,
  step: UpdateStep,
  members: readonly MemberEdits[],
  signal: AbortSignal,
): Promise<void> {
  for (const member of members) await updateMember(context, step, member, signal);
}

async function updateMember(
  context: StepContext,
  step: UpdateStep,
  member: MemberEdits,
  signal: AbortSignal,
): Promise<void> {
  const { target, edits } = member;
  const config = Object.fromEntries(edits.map(({ segments, after }) => [segments[2] ?? '', after ?? ''] as const));
  for (let attempt = 1; ; attempt += 1) {
    const { etag: ifMatch, repeated } = await readMember(context, step, member, signal);
    const body = { config, ...repeated } as unknown as Partial<KindTypes[KindName]['put']>;
    const write = { target, ...withoutUndefined({ ifMatch }) };
    try {
      await sendAndWait(context, () => context.client.patch(step.kind, step.name, body, write, signal), signal);
      return;
    } catch (error) {
      await pauseIfOvertaken(context, error, attempt, signal);
    }
  }
}
