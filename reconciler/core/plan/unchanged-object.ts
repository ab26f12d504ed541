// The change of an object that stays as it is; decisions overwrite the members that they set.
import type { Document } from '../documents/document.ts';
import type { AffectedObject, ResourceChange } from './plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const noStrings: readonly string[] = [];
const noAffected: readonly AffectedObject[] = [];

export const unchangedObject = ({
  address,
  kind,
  name,
  secrets,
}: Pick<Document, 'address' | 'kind' | 'name' | 'secrets'>): Omit<ResourceChange, 'steps' | 'isProtected'> => ({
  address,
  kind,
  name,
  action: 'no-op',
  changes: [],
  effect: 'live',
  reasons: noStrings,
  unmanaged: noStrings,
  claims: noStrings,
  releases: noStrings,
  affects: noAffected,
  ...withoutUndefined({ secrets }),
});
