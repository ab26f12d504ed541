// Turns errors of the client into messages for users of Terraform: what was tried, why it failed, what to do. Pure.
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
  const remedy = remedyOf(what, error);
  const detail = [`${why}.`, ...lines, ...(remedy === '' ? [] : ['', remedy])].join('\n');
  return [failure(`Cannot ${what}`, detail)];
}

function remedyOf(what: string, error: unknown): string {
  if (!(error instanceof ClientError)) return '';
  switch (error.code) {
    case 'unreachable':
    case 'timeout':
      return 'Check that the daemon runs, then plan again: completed changes stay.';
    case 'untrusted':
    case 'forbidden':
      return 'Use credentials with this permission.';
    case 'preconditionFailed':
      return 'Someone else changed it at the same time: plan again.';
    case 'exists':
      if (what.startsWith('update '))
        return 'Choose another name. If a resource of this configuration has it until now (two that exchange their names, or one of another provider block), do it in two applies: first give this one a name that nothing has, then the final one. To take over an object that this configuration does not have, remove this resource from the state and import that one.';
      return 'Choose another name, or take the existing object over with an import block (to = <the address of this resource>, id = <its import id>): it is yours if an apply was interrupted while it created or renamed it. If this configuration has it at another address, such as an old name or key of for_each, write a moved block (from, to). With create_before_destroy the two objects need different names.';
    case 'inUse':
      if (what.startsWith('update ')) return 'Remove it from its users in one apply, and change it in the next.';
      if (what === 'delete gantry_project')
        return 'Delete what is in it first; or set force_destroy = true, apply that, and destroy it then.';
      return 'If this configuration does not have its user, end the use on the server first. If it does, Terraform deletes it before it updates the resource that referred to it. Apply that update first (terraform apply -target=<the user>), then the rest; with lifecycle { create_before_destroy = true } on it, applied before you remove it, Terraform updates first.';
    case 'notImplemented':
      return 'This server does not support it.';
    default:
      return '';
  }
}
