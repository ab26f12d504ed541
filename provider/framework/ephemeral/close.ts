// Closes an ephemeral resource. Most have nothing to close.
import type { Diagnostic } from '../diagnostic.ts';
import type { PrivateData } from '../object-type.ts';
import { operate, type EphemeralDeps } from './operating.ts';

export async function closeEphemeral<C>(
  deps: EphemeralDeps<C>,
  privateData: PrivateData,
): Promise<readonly Diagnostic[]> {
  const { resource } = deps;
  if (resource.close === undefined) return [];
  return (await operate(deps, 'close', privateData, async (context) => resource.close?.(context))).diagnostics;
}
