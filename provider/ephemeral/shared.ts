// Attributes that ephemeral resources share, among them those that choose server and project.
import { scopedEphemeral } from '../connection/ephemeral-scope.ts';
import type { Link } from '../connection/link.ts';
import { text, textMap, type Attributes } from '../framework/attribute.ts';
import type { AnyEphemeralResource, EphemeralResource } from '../framework/ephemeral/ephemeral-resource.ts';

export const gantryEphemeral = <A extends Attributes>(
  definition: EphemeralResource<A, Link>,
): AnyEphemeralResource<Link> => scopedEphemeral(definition);

export const containerToOpen = (doc: string) => text({ doc, required: true });

export const triggersToOpen = textMap({
  doc: 'Any values. Terraform waits until all of them are known: with `created_at` of a container from the same apply, it opens this resource only after that container exists.',
});
