// The type of a decision about one object.
import { isTrue } from '../../../server/api/container/container-config.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf } from '../documents/json-values.ts';
import type { Live } from '../documents/observed.ts';
import type { ResourceChange } from '../plan/plan.ts';
import type { Sketch } from '../plan/step-drafts.ts';

export interface Decision {
  readonly change: Omit<ResourceChange, 'steps'>;
  /** Empty when there is nothing to do, or a guard refuses the change. */
  readonly sketches: readonly Sketch[];
}

export function isProtected(document: Document, live: Live<object> | undefined): boolean {
  if (document.manage.protect) return true;
  if (document.kind !== 'container' || live === undefined) return false;
  const key = mapOf((live.object as JsonObject)['config'])['security.protection.delete'];
  return isTrue(typeof key === 'string' ? key : undefined);
}
