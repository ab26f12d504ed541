// The errors for an object that an import, or a `moved` block of another provider, takes over: it is not where the state says, or its
// configuration names another place. The plan would make a second object, or destroy the first.
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { AnyResource } from '../framework/provider.ts';
import type { Value, ValueMap } from '../framework/value.ts';
import type { Link, Scope } from './link.ts';

const textOf = (value: Value | undefined): string => (typeof value === 'string' ? value : '');

/** No such object is where the state of the other provider says. */
export function movedNowhere({ typeName, identity }: AnyResource<Link>, state: ValueMap, link: Link): DiagnosticError {
  const name = identity.map((each) => textOf(state[each])).join('/');
  const where = Object.hasOwn(state, 'project') ? ` in the project ${link.project ?? 'default'}` : '';
  const detail = `${link.client.host} has none of that name${where}. If it is elsewhere, remove it from the state (terraform state rm), and replace the moved block by an import block whose id names its remote and project. If it no longer exists, remove it from the state and remove the moved block.`;
  return new DiagnosticError([failure(`The moved ${typeName} ${name} was not found`, detail)]);
}

/** The configuration is for another place than that of the object. */
export function takenFromElsewhere(
  what: string,
  names: readonly ('remote' | 'project')[],
  before: Scope,
  wanted: Scope,
): Diagnostic {
  const others = names.filter((name) => before[name] !== wanted[name]);
  // None where the configuration is known only after apply.
  const differing = others.length > 0 ? others : names;
  const remedies = differing.map((name) =>
    before[name] === null
      ? `leave ${name} out of its block`
      : `write ${name} = ${JSON.stringify(before[name])} in its block`,
  );
  const detail = `Terraform would destroy it and create another one. To keep it, ${remedies.join(' and ')}. To have another one there instead, first give this one up: remove its import block or terraform state rm with its address, or terraform destroy -target to delete it.`;
  const summary = `The ${what} is in another ${differing.join(' and ')} than its configuration says`;
  return failure(summary, detail, at(differing[0] ?? 'project'));
}
