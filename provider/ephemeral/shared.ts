// Attributes that ephemeral resources share, and what lets each be on a server and in a project of its own.
import { scopedEphemeral } from '../connection/ephemeral-scope.ts';
import type { Link } from '../connection/link.ts';
import { text, textMap, type Attributes } from '../framework/attribute.ts';
import type { AnyEphemeralResource, EphemeralResource } from '../framework/ephemeral/ephemeral-resource.ts';

export const gantryEphemeral = <A extends Attributes>(
  definition: EphemeralResource<A, Link>,
): AnyEphemeralResource<Link> => scopedEphemeral(definition);

export const containerToOpen = (doc: string) => text({ doc, required: true });

export const triggersToOpen = textMap({
  doc: 'Any values. While one of them is not known yet Terraform waits: with `created_at` of a container that the apply makes, nothing is asked of it before it is there.',
});
