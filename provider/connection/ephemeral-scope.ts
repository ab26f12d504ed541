// What lets an ephemeral resource be on a server and in a project of its own: the attributes `remote` and `project`, and a note of
// them for renewing and closing, which are not given the configuration.
import type { Attributes } from '../framework/attribute.ts';
import type { AnyEphemeralResource, EphemeralResource } from '../framework/ephemeral/ephemeral-resource.ts';
import type { Context } from '../framework/object-type.ts';
import type { ValueMap } from '../framework/value.ts';
import type { Link } from './link.ts';
import { attributesFor, inScope } from './scope.ts';

const names = ['remote', 'project'] as const;

const inNotedScope = (context: Context<Link>): Promise<Context<Link>> => inScope(context, context.privateData);

function noteScope({ privateData }: Context<Link>, config: ValueMap): void {
  for (const name of names) {
    const value = config[name];
    if (typeof value === 'string' && value !== '') privateData[name] = value;
  }
}

/** The same ephemeral resource, its operations in the scope that its attributes say. */
export function scopedEphemeral<A extends Attributes>(
  definition: EphemeralResource<A, Link>,
): AnyEphemeralResource<Link> {
  // The framework calls the operations with values of its attributes only.
  const inner = definition as unknown as AnyEphemeralResource<Link>;
  return {
    ...inner,
    attributes: { ...inner.attributes, ...attributesFor({ inProjects: true }, '') },
    async open(config, context) {
      noteScope(context, config as ValueMap);
      return inner.open(config, await inScope(context, config as ValueMap));
    },
    renew: async (context) => inner.renew?.(await inNotedScope(context)),
    close: async (context) => inner.close?.(await inNotedScope(context)),
  };
}
