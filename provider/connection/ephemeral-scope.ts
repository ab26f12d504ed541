// Lets an ephemeral resource choose its server and project: the attributes `remote` and `project`, saved in private data for renew
// and close, which do not get the configuration.
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

/** The same ephemeral resource, with operations in the scope that its attributes name. */
export function scopedEphemeral<A extends Attributes>(
  definition: EphemeralResource<A, Link>,
): AnyEphemeralResource<Link> {
  // The framework calls the operations only with values of its attributes.
  const inner = definition as unknown as AnyEphemeralResource<Link>;
  return {
    ...inner,
    attributes: { ...inner.attributes, ...attributesFor({ inProjects: true }) },
    async open(config, context) {
      noteScope(context, config as ValueMap);
      return inner.open(config, await inScope(context, config as ValueMap));
    },
    renew: async (context) => inner.renew?.(await inNotedScope(context)),
    close: async (context) => inner.close?.(await inNotedScope(context)),
  };
}
