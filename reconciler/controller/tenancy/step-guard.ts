// Checks each step against the rules of the tenant before it is sent, as a second line of defence after the plan. Pure.
import { addressOf, defaultManage, type Document, type JsonObject } from '../../core/documents/document.ts';
import { coreKind } from '../../core/kinds/index.ts';
import type { Step } from '../../core/plan/plan.ts';
import { plainName } from '../../core/text/scoped-name.ts';
import { NotPermittedError, type StepGuard } from '../../engine/steps/context.ts';
import { breachesOf } from './breaches.ts';
import type { Breach, Subject } from './subject.ts';
import { ownImages, projectOf, withoutEmptyProfiles, type TenantHost } from './check-documents.ts';
import type { Tenant } from './tenant.ts';

/** `documents`: those of the set on the host. `own`: its project, whose config comes from gantry.yaml, not from the tenant. */
export function stepGuard(
  tenant: Tenant,
  host: TenantHost,
  documents: readonly Document[],
  own?: { readonly name: string; readonly config?: object },
): StepGuard {
  const images = ownImages(documents);
  const breaches = (step: Step, values: JsonObject, isObject: boolean): readonly Breach[] =>
    breachesOf(tenant, subjectOf(step, values, { host, images, isObject }));
  return (step, write) => {
    if (own?.config !== undefined && step.address === `project/${own.name}`) return;
    const before = new Set(write === undefined ? [] : breaches(step, write.before, true).map(keyOf));
    const isObject = write !== undefined || step.action === 'create' || step.action === 'rebuild';
    const found = breaches(step, write?.after ?? bodyOf(step), isObject);
    // Ignores breaches that the live object had before: the tenant did not cause them.
    const [first] = found.filter((one) => one.path === '' || !before.has(keyOf(one)));
    if (first !== undefined)
      throw new NotPermittedError(`the tenant ${tenant.name} may not do this (${first.rule}): ${first.message}`);
  };
}

const keyOf = ({ rule, message }: Breach): string => `${rule} ${message}`;

/** The values that a step writes, as a document. An update is checked later, once it has read the object. */
function bodyOf(step: Step): JsonObject {
  if (step.action === 'create' || step.action === 'rebuild') return step.body;
  if (step.action === 'files') return { files: [] };
  if (step.action === 'exec') return { exec: {} };
  if (step.action === 'snapshot') return { snapshots: {} };
  const isOfMembers = step.action === 'update' && step.edits.some(({ segments }) => segments[0] === 'member_overrides');
  return isOfMembers ? { member_overrides: {} } : {};
}

interface StepSite {
  readonly host: TenantHost;
  readonly images: ReadonlySet<string>;
  /** The values are those of a whole object. */
  readonly isObject: boolean;
}

function subjectOf(step: Step, written: JsonObject, { host, images, isObject }: StepSite): Subject {
  const { kind, project } = step;
  // Image steps carry the fingerprint as name; the address has the document's name.
  const name = plainName(step.address.slice(kind.length + 1), project);
  const { name: _name, ...values } = withoutEmptyProfiles(written);
  const document: Document = {
    kind,
    name,
    address: addressOf(kind, name),
    location: { file: '', line: 1, column: 1 },
    values,
    manage: defaultManage,
  };
  return {
    kind,
    name,
    project: projectOf(host, project),
    host,
    values,
    references: isObject ? coreKind(kind).references(document) : [],
    tried: triedBy(step),
    ownImages: images,
  };
}

const triedBy = (step: Step): readonly string[] =>
  step.action === 'wait' && step.condition.type === 'tcp' && step.condition.host !== undefined
    ? [step.condition.host]
    : [];
