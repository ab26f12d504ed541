// Reports the diagnostics of repeated checks once, until they change.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Context } from '../session/context.ts';

export function reportingOnce<T extends Context>(context: T): T {
  let reported = '';
  const diagnostics = async (found: readonly Diagnostic[]): Promise<void> => {
    const text = JSON.stringify(found);
    if (found.length === 0 || text === reported) return;
    reported = text;
    await context.diagnostics(found);
  };
  return { ...context, diagnostics };
}
