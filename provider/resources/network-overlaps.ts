// Finds at the plan that the subnets of a network overlap those of other networks of the server.
import { cidrsOverlap, formatCidr, parseCidr } from '../../server/api/text/ip.ts';
import { isGantry, type Link } from '../connection/link.ts';
import type { TextMap } from '../framework/attribute.ts';
import { warning, type Diagnostic } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import { isMap, type ValueMap } from '../framework/value.ts';

const addressKeys = ['ipv4.address', 'ipv6.address'] as const;

/** Warnings: the apply may first delete or change the other network. */
export async function overlapWarnings(
  client: Link,
  planned: ValueMap,
  prior: { readonly name: string; readonly effective_config: TextMap | null } | null,
): Promise<readonly Diagnostic[]> {
  const { config } = planned;
  const before = prior?.effective_config ?? {};
  if (!isGantry(client) || !isMap(config)) return [];
  const wanted = addressKeys.flatMap((key) => {
    const text = config[key];
    const cidr = typeof text === 'string' && text !== before[key] ? parseCidr(text) : undefined;
    return cidr === undefined ? [] : [{ key, cidr }];
  });
  if (wanted.length === 0) return [];
  const networks = await client.client.list('network', AbortSignal.timeout(20_000));
  const others = networks.filter((other) => other.managed && other.name !== (prior?.name ?? planned['name']));
  return wanted.flatMap(({ key, cidr }) =>
    others.flatMap((other) => {
      const has = parseCidr(other.config[key] ?? '');
      if (has === undefined || !cidrsOverlap(cidr, has)) return [];
      const summary = `The subnet ${formatCidr(cidr)} overlaps that of the network ${other.name}`;
      const detail = `It has ${formatCidr(has)}. The server refuses the change unless this apply deletes or changes that network first.`;
      return [warning(summary, detail, at('config', { key }))];
    }),
  );
}
