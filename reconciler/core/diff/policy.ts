// `manage.policy`: the actions that are allowed on an object. Without update its differences are listed, and it is neither written nor owned.
import type { Diff } from './diff.ts';
import type { Document, Manage, PolicyWord } from '../documents/document.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { IgnoredDifference } from '../ownership/ignored-paths.ts';
import type { Live } from '../documents/observed.ts';
import type { Guard, ResourceChange } from '../plan/plan.ts';
import { unchangedObject } from '../plan/unchanged-object.ts';

/** Without a policy everything is allowed. */
export const allows = ({ policy }: Manage, word: PolicyWord): boolean => policy === undefined || policy.includes(word);

const rule = { path: '*', reason: 'manage.policy does not allow update' };

/** An existing object that may not be updated: its differences are listed, and it has no steps. */
export function unchangedByPolicy(document: Document, live: Live<object>, diff: Diff): Omit<ResourceChange, 'steps'> {
  const ignored = [...diff.changes.map((change): IgnoredDifference => ({ ...change, rule })), ...diff.ignored];
  return {
    ...unchangedObject(document),
    unmanaged: diff.unmanaged,
    live: live.object,
    isProtected: document.manage.protect,
    ...(ignored.length === 0 ? {} : { ignored }),
  };
}

/** The guard of an object that does not exist. */
export const notCreated = ({ address, location }: Document): Diagnostic => ({
  severity: 'error',
  code: 'policy',
  address,
  path: 'manage.policy',
  message: `${address} does not exist, and its manage.policy does not allow to create it`,
  remedy: 'create it by other means, or add create to its policy',
  ...location,
});

/** A recreation is a deletion and a creation. */
export function policyGuard({ address, manage }: Document, verb: string): Guard | undefined {
  const missing = (['delete', 'create'] as const).filter((word) => !allows(manage, word));
  if (missing.length === 0) return undefined;
  return {
    code: 'protected',
    address,
    message: `this plan would ${verb} ${address}, and its manage.policy does not allow ${missing.join(' and ')}`,
    remedy: `revert the change, or add ${missing.join(' and ')} to its policy`,
  };
}
