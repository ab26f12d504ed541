// Networks whose subnets overlap: an error where the server would refuse the change, else a warning. Pure.
import { cidrsOverlap, parseCidr, type Cidr } from '../../../server/api/text/ip.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import { addressOf, type Address, type Document } from '../documents/document.ts';
import { asText, mapOf, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

interface Subnet {
  readonly address: Address;
  readonly key: string;
  readonly text: string;
  readonly cidr: Cidr;
  readonly document?: Document;
}

const keys = ['ipv4.address', 'ipv6.address'] as const;

export function overlappingSubnets(objects: readonly Document[], observed: Observed): readonly Diagnostic[] {
  const declared = objects.filter(({ kind, values }) => kind === 'network' && isBridge(textOf(values['type'])));
  const names = new Set(declared.map(({ name }) => name));
  const seen: Subnet[] = [...observed.networks].flatMap(([name, { object }]) =>
    names.has(name) || !object.managed || !isBridge(object.type)
      ? []
      : subnetsOf(addressOf('network', name), (key) => object.config[key] ?? ''),
  );
  // An overlap that exists on the server may stay.
  const isRefused = (live: string | undefined, wanted: string): boolean =>
    observed.server.isGantry === true && live !== wanted;
  return declared.flatMap((document) => {
    const config = mapOf(document.values['config']);
    const live = observed.networks.get(document.name)?.object.config;
    const own = subnetsOf(document.address, (key) =>
      asText(config[key] === undefined || config[key] === 'auto' ? live?.[key] : config[key]),
    );
    const found = own.flatMap((subnet) =>
      seen
        .filter((other) => cidrsOverlap(subnet.cidr, other.cidr))
        .map((other) => overlap(document, subnet, other, isRefused(live?.[subnet.key], subnet.text))),
    );
    seen.push(...own);
    return found;
  });
}

const isBridge = (type: string | undefined): boolean => type === undefined || type === '' || type === 'bridge';

const subnetsOf = (address: Address, valueOf: (key: string) => string): readonly Subnet[] =>
  keys.flatMap((key) => {
    const text = valueOf(key);
    const cidr = parseCidr(text);
    return cidr === undefined ? [] : [{ address, key, text, cidr }];
  });

function overlap(document: Document, subnet: Subnet, other: Subnet, isRefused: boolean): Diagnostic {
  const effect = isRefused ? 'the server would refuse it' : 'some addresses of one cannot be reached';
  return {
    severity: isRefused ? 'error' : 'warning',
    code: 'overlapping-subnets',
    address: document.address,
    path: `config.${subnet.key}`,
    message: `the subnet ${subnet.text} of ${subnet.address} overlaps ${other.text} of ${other.address}: ${effect}`,
    remedy: `give one of them another subnet, or \`${subnet.key}: auto\` for one that is free`,
    ...document.location,
  };
}
