// Networks of a compose file as bridges, and the nics of a service on them. Pure.
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { asText, isMap, mapOf, textsOf } from '../../core/documents/json-values.ts';
import type { ComposeFile } from './file.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export function networkDocuments(file: ComposeFile): readonly JsonObject[] {
  return Object.entries(file.section('networks')).flatMap(([name, given]): JsonObject[] => {
    const { name: _, external, driver, ipam, enable_ipv6: _6, attachable: _a, ...rest } = mapOf(given);
    const path = ['networks', name];
    if (name === 'default') {
      if (Object.keys(mapOf(given)).length > 0)
        file.lost(path, 'services without networks are on the network of their profiles');
      return [];
    }
    if (driver !== undefined && driver !== null && driver !== 'bridge')
      file.lost([...path, 'driver'], 'it becomes a bridge');
    for (const key of Object.keys(rest).filter((each) => !each.startsWith('x-')))
      file.lost([...path, key], networkRemedies[key]);
    if (external === true || isMap(external)) {
      file.note(
        path,
        `networks.${name} is external: name a network of the server in the nics, or make ${networkName(file, name)} before the first apply`,
      );
      return [];
    }
    const address = addressOf(ipam);
    if (ipam !== undefined && address === undefined)
      file.lost([...path, 'ipam'], 'write it as ipv4.address of the network');
    else for (const key of lostOf(ipam)) file.lost([...path, 'ipam', key], networkRemedies[key]);
    return [
      {
        kind: 'network',
        name: networkName(file, name),
        ...(address === undefined ? {} : { config: { 'ipv4.address': address } }),
      },
    ];
  });
}

const networkRemedies: Readonly<Record<string, string>> = {
  internal: 'write ipv4.nat: false, or a network_acl',
  driver_opts: 'write the keys of the network (gantry explain network.config)',
  labels: 'write them as labels:',
  ip_range: 'write it as ipv4.dhcp.ranges of the network',
};

const networkName = (file: ComposeFile, name: string): string =>
  file.networks.of(asText(mapOf(file.section('networks')[name])['name']) || name);

/** The only IPv4 subnet, as the address of the bridge in it. */
function addressOf(ipam: Json | undefined): string | undefined {
  const config = mapOf(ipam)['config'];
  const [one, second] = Array.isArray(config) ? (config as readonly Json[]) : [];
  const found = /^(\d+\.\d+\.\d+)\.(\d+)\/(\d+)$/.exec(asText(mapOf(one)['subnet']));
  if (found === null || second !== undefined) return undefined;
  const [, head = '', last = '', bits = ''] = found;
  const gateway = asText(mapOf(one)['gateway']) || `${head}.${Number(last) + 1}`;
  return `${gateway}/${bits}`;
}

/** Keys beside the subnet and its gateway. */
function lostOf(ipam: Json | undefined): readonly string[] {
  const { driver = 'default', config, ...rest } = mapOf(ipam);
  const { subnet: _s, gateway: _g, ...more } = mapOf((config as readonly Json[] | undefined)?.[0]);
  return [...(driver === 'default' ? [] : ['driver']), ...Object.keys(rest), ...Object.keys(more)];
}

/** A service without networks keeps the nic of its profiles. */
export function nicsOf(file: ComposeFile, service: string, values: JsonObject): JsonObject {
  const given = values['networks'];
  const names = isMap(given) ? Object.keys(given) : textsOf(given);
  const nics = names.filter((name) => name !== 'default');
  return Object.fromEntries(
    nics.map((name, index) => {
      const how = mapOf(mapOf(given)[name]);
      const address =
        addressOf(mapOf(file.section('networks')[name])['ipam']) === undefined ? undefined : how['ipv4_address'];
      for (const key of Object.keys(how))
        if (key !== 'ipv4_address' || address === undefined)
          file.lost(
            ['services', service, 'networks', name, key],
            /^ipv[46]_address$/.test(key) ? `write it as ${key.replace('_', '.')} of the nic` : undefined,
          );
      return [
        `eth${index}`,
        {
          type: 'nic',
          network: networkName(file, name),
          name: `eth${index}`,
          ...withoutUndefined({ 'ipv4.address': address }),
        },
      ];
    }),
  );
}
