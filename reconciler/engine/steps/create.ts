// Creates any object that JSON alone describes; create-image.ts creates images with files.
import type { KindTypes } from '../../../server/api/kind-schemas.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import { withOwnership } from '../../core/ownership/owner-records.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { mayExist, recogniseExisting } from './existing.ts';
import { keepOnlyWritten } from './remove-undeclared.ts';
import { createOnMembers } from './member-config.ts';

export async function createObject(context: StepContext, step: CreateStep, signal: AbortSignal): Promise<Note> {
  const { client } = context;
  // The plan made the body for this kind; the server validates it.
  const owned = context.hash === undefined ? step.body : withOwnership(step.kind, step.body, step.owner, context.hash);
  const body = owned as unknown as KindTypes[KindName]['create'];
  try {
    if (owned['member_overrides'] !== undefined) await createOnMembers(context, step.kind, owned, signal);
    else await sendAndWait(context, () => client.create(step.kind, body, targetPart(step), signal), signal);
    if (step.isExact === true && step.kind === 'container') await keepOnlyWritten(context, step, owned, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!mayExist(error)) throw error;
    return recogniseExisting(client, step, error, signal);
  }
}

export const targetPart = ({ target }: { readonly target?: string }): { readonly target?: string } =>
  target === undefined ? {} : { target };
