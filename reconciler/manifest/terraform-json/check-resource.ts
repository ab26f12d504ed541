// Checks a resource before its evaluation: its type, its arguments, its lifecycle.
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Json } from '../../core/documents/document.ts';
import { listOf, metaArguments, type Resource } from './config/blocks.ts';
import { dataTypeNames, dataTypeOf } from './types/schema-facts.ts';
import { gantryRefused } from './types/gantry-types.ts';
import type { Problem, Report } from './problem.ts';
import { ownPrefixes, resourceTypeNames, resourceTypeOf } from './types/resource-types.ts';

const blocks = [...metaArguments, 'dynamic'];

export function checkResource(resource: Resource, report: Report): void {
  const { type, address, file, steps, construct, body } = resource;
  const refuse = (code: Problem['code'], message: string, step?: string): void =>
    report({
      code,
      message,
      file,
      steps: step === undefined ? steps : [...steps, step],
      ...(construct === undefined ? {} : { construct }),
    });
  if (resource.mode === 'data') return checkData(resource, refuse);
  const known = resourceTypeOf(type);
  if (known === undefined) {
    const reason = Object.hasOwn(gantryRefused, type) ? gantryRefused[type] : undefined;
    const isOwn = ownPrefixes.some((prefix) => type.startsWith(prefix));
    if (reason !== undefined) refuse('E_UNKNOWN_RESOURCE', `${address}: ${reason}`);
    else if (isOwn)
      refuse(
        'E_UNKNOWN_RESOURCE',
        `${address}: the type ${type} is not available here${hint(type, resourceTypeNames)}`,
      );
    else refuse('E_FOREIGN_RESOURCE', `${address} is of another provider`);
    return;
  }
  if (body['provisioner'] !== undefined || body['connection'] !== undefined)
    refuse('E_PROVISIONER', `${address} has a provisioner`);
  if (body['dynamic'] !== undefined) refuse('E_DYNAMIC', `${address} has a dynamic block`, 'dynamic');
  checkArguments(resource, known.arguments, refuse);
  for (const lifecycle of listOf(body['lifecycle'])) {
    if (lifecycle['create_before_destroy'] === true)
      refuse('E_CREATE_BEFORE_DESTROY', `${address}: create_before_destroy`, 'lifecycle');
    if (lengthOf(lifecycle['replace_triggered_by']) > 0)
      refuse('E_REPLACE_TRIGGER', `${address}: replace_triggered_by`, 'lifecycle');
  }
}

type Refuse = (code: Problem['code'], message: string, step?: string) => void;

function checkArguments({ body, address }: Resource, names: ReadonlySet<string>, refuse: Refuse): void {
  for (const name of Object.keys(body)) {
    if (blocks.includes(name) || names.has(name)) continue;
    refuse('E_ARGUMENT', `${address} has no argument ${name}${hint(name, [...names])}`, name);
  }
}

function checkData(resource: Resource, refuse: Refuse): void {
  const { type, address } = resource;
  const known = dataTypeOf(type);
  if (known !== undefined) checkArguments(resource, known.arguments, refuse);
  else if (type === 'terraform_remote_state') refuse('E_REMOTE_STATE', `${address} is not evaluated`);
  else if (type.startsWith('gantry_'))
    refuse('E_DATA', `${address}: there is no data source ${type}${hint(type, dataTypeNames)}`);
  else refuse('E_DATA', `${address} is of another provider`);
}

const lengthOf = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);
