// Networks and pools of clusters: creates them on all members, and changes config of single members.
import type { KindName } from '../../../server/api/kinds.ts';
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import { dialectOf } from '../../../server/client/client.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { mapOf } from '../../core/documents/json-values.ts';
import type { UpdateStep } from '../../core/plan/plan.ts';
import { sendAndWait, type StepContext } from './context.ts';
import { mayExist } from './existing.ts';

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
}

/** Applies the edits of single members and returns the rest of the step. */
export async function updateMembers(context: StepContext, step: UpdateStep, signal: AbortSignal): Promise<UpdateStep> {
  const own = step.edits.filter(({ segments }) => segments[0] === 'member_overrides');
  if (own.length === 0) return step;
  const byMember = new Map<string, Record<string, Json>>();
  for (const { segments, after } of own) {
    const [, member = '', key = ''] = segments;
    byMember.set(member, { ...byMember.get(member), [key]: after ?? '' });
  }
  for (const [target, config] of byMember) {
    const body = { config } as unknown as Partial<KindTypes[KindName]['put']>;
    await sendAndWait(context, () => context.client.patch(step.kind, step.name, body, { target }, signal), signal);
  }
  return { ...step, edits: step.edits.filter((edit) => !own.includes(edit)) };
}
