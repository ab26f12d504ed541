// Opens an ephemeral resource: returns its configuration with defaults and the values from opening.
import type { Attributes, StateOf } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { withoutNullEntries } from '../null-entries.ts';
import { planChange } from '../plan.ts';
import type { PrivateData } from '../object-type.ts';
import { redacted } from '../redact.ts';
import { knownPart, type ValueMap } from '../value.ts';
import { operate, type EphemeralDeps } from './operating.ts';

export interface OpenResult {
  /** Null: it could not be opened. */
  readonly result: ValueMap | null;
  readonly privateData: PrivateData;
  readonly renewAt: Date | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

export async function openEphemeral<C>(deps: EphemeralDeps<C>, config: ValueMap): Promise<OpenResult> {
  const { attributes } = deps.resource;
  const given = knownPart(planChange(attributes, withoutNullEntries(attributes, config), null).planned) as ValueMap;
  const ran = await operate(deps, 'open', {}, (context) => deps.resource.open(given as StateOf<Attributes>, context));
  const diagnostics = redacted(ran.diagnostics, attributes, [config]);
  if (ran.done === undefined) return { result: null, privateData: {}, renewAt: undefined, diagnostics };
  const values = ran.done.values as ValueMap;
  const result = Object.keys(attributes).map(
    (name) => [name, values[name] ?? config[name] ?? given[name] ?? null] as const,
  );
  return {
    result: Object.fromEntries(result),
    privateData: ran.privateData,
    renewAt: ran.done.renewAt,
    diagnostics,
  };
}
