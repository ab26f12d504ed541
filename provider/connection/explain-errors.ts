// Errors of the client in words for users of Terraform: what was tried, why it failed, what to do. Pure.
import { ClientError } from '../../server/client/client-error.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import { reasonOf } from '../../server/lib/shared/reason.ts';

export function explain(what: string, error: unknown): readonly Diagnostic[] {
  if (error instanceof DiagnosticError) return error.diagnostics;
  const why = reasonOf(error);
  const details = error instanceof ClientError ? error.details : [];
  const lines = details
    .filter(({ message }) => !why.includes(message))
    .map(({ path, message }) => (path === '' ? `- ${message}` : `- ${path}: ${message}`));
  const remedy = remedyOf(error);
  const detail = [`${why}.`, ...lines, ...(remedy === '' ? [] : ['', remedy])].join('\n');
  return [failure(`Cannot ${what}`, detail)];
}

function remedyOf(error: unknown): string {
  if (!(error instanceof ClientError)) return '';
  switch (error.code) {
    case 'unreachable':
    case 'timeout':
      return 'See that the daemon runs, then plan again: what is done stays done.';
    case 'untrusted':
    case 'forbidden':
      return 'Use credentials that may do this.';
    case 'preconditionFailed':
      return 'It was changed at the same time by someone else: plan again.';
    case 'exists':
      return 'Choose another name, or take the existing object over with terraform import. Of create_before_destroy both have to have names of their own.';
    case 'inUse':
      return 'Terraform deletes it before it updates what referred to it. Apply that update first (terraform apply -target=<the user>), then the rest; with lifecycle { create_before_destroy = true } on it, applied before it goes, Terraform keeps the other order by itself.';
    case 'notImplemented':
      return 'This server does not do that.';
    default:
      return '';
  }
}
