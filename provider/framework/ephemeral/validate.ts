// Validates the configuration of an ephemeral resource.
import type { Attributes } from '../attribute.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { withoutNullEntries } from '../null-entries.ts';
import type { ConfigOf } from '../object-type.ts';
import { redacted } from '../redact.ts';
import { validateAttributes } from '../validate.ts';
import type { ValueMap } from '../value.ts';
import type { AnyEphemeralResource } from './ephemeral-resource.ts';

export function validateEphemeral<C>(resource: AnyEphemeralResource<C>, written: ValueMap): readonly Diagnostic[] {
  const { attributes } = resource;
  const config = withoutNullEntries(attributes, written);
  // Terraform never stores it.
  const found = validateAttributes(attributes, config, { writeOnlyAllowed: true });
  return redacted([...found, ...(resource.validate?.(config as ConfigOf<Attributes>) ?? [])], attributes, [config]);
}
