// Reports the diagnostics of repeated checks once, until they change.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { CliContext } from '../session/context.ts';

/** Inherits everything else from the context, including later changes. */
export function reportingOnce<T extends CliContext>(context: T): T {
  let told = '';
  const diagnostics = async (found: readonly Diagnostic[]): Promise<void> => {
    const text = JSON.stringify(found);
    if (found.length === 0 || text === told) return;
    told = text;
    await context.diagnostics(found);
  };
  return Object.assign(Object.create(context) as T, { diagnostics });
}
