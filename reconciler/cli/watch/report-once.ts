// Diagnostics of what is looked at again and again: the same ones are told once, until there are others.
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { CliContext } from '../session/context.ts';

/** Everything else is the context's own, also what is set later. */
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
