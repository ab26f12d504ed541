// A message to a user: severity, a summary line, an explanation with the next step, and the attribute concerned.
import type { Path } from './path.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** One line. */
  readonly summary: string;
  /** Why, and what to do. */
  readonly detail: string;
  readonly path?: Path;
}

/** An expected failure with its own messages; the provider explains any other error. */
export class DiagnosticError extends Error {
  override readonly name = 'DiagnosticError';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[], cause?: unknown) {
    super(diagnostics.map(({ summary }) => summary).join('; '), cause === undefined ? undefined : { cause });
    this.diagnostics = diagnostics;
  }
}

export const failure = (summary: string, detail: string, path?: Path): Diagnostic => ({
  severity: 'error',
  summary,
  detail,
  ...withoutUndefined({ path }),
});

export const warning = (summary: string, detail: string, path?: Path): Diagnostic => ({
  ...failure(summary, detail, path),
  severity: 'warning',
});

export const hasErrors = (diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ severity }) => severity === 'error');
