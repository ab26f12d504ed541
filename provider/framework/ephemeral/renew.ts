// Renews an ephemeral resource. One without `renew` stays as it is.
import type { Diagnostic } from '../diagnostic.ts';
import type { PrivateData } from '../object-type.ts';
import { operate, type EphemeralDeps } from './operating.ts';

export interface RenewResult {
  readonly privateData: PrivateData;
  /** Undefined: no further renewal. */
  readonly renewAt: Date | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

export async function renewEphemeral<C>(deps: EphemeralDeps<C>, privateData: PrivateData): Promise<RenewResult> {
  const { resource } = deps;
  if (resource.renew === undefined) return { privateData, renewAt: undefined, diagnostics: [] };
  const { done, ...ran } = await operate(deps, 'renew', privateData, async (context) => resource.renew?.(context));
  return { ...ran, renewAt: done };
}
