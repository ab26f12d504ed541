// Finds static addresses of nics outside the planned subnet of their network, and those that it would not give out. Pure.
import { isNic } from '../../../server/api/devices/index.ts';
import { addressProblem } from '../../../server/api/network/address-in-subnet.ts';
import { staticAddressProblem } from '../../../server/api/network/static-address.ts';
import { parseCidr, parseIp } from '../../../server/api/text/ip.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { asText, mapOf, presentDevices, presentTexts } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { scopesOf } from '../live/project-scope.ts';
import { resolved, type ExpectedContainer } from './expected-containers.ts';

const keys = ['ipv4.address', 'ipv6.address'] as const;

/** Errors for addresses that the server would refuse; warnings for existing ones and for containers that stay stopped. */
export function strayAddresses(
  containers: readonly ExpectedContainer[],
  objects: readonly Document[],
  observed: Observed,
): readonly Diagnostic[] {
  const networks = new Map(objects.filter(({ kind }) => kind === 'network').map((one) => [one.name, one]));
  const { keyOf } = scopesOf(observed, objects);
  /** Its address after the plan; undefined while the server has yet to pick one. */
  const addressOf = (name: string, key: string, project: string | undefined): string | undefined => {
    const known = keyOf('network', name, project);
    const live = observed.networks.get(known)?.object.config[key];
    const written = mapOf(networks.get(known)?.values['config'])[key];
    return written === undefined || written === 'auto' ? live : asText(written);
  };
  return containers.flatMap((container) => {
    const { document } = container;
    if (document === undefined) return [];
    const now = observed.containers.get(document.name)?.object.expanded_devices ?? {};
    return Object.entries(container.devices).flatMap(([device, given]) => {
      const nic = isNic(given) ? resolved(given) : {};
      return keys.flatMap((key): readonly Diagnostic[] => {
        const [text = '', name = ''] = [nic[key], nic['parent']];
        const [ip, network] = [parseIp(text), parseCidr(addressOf(name, key, document.project) ?? '')];
        const why = ip === undefined || network === undefined ? undefined : addressProblem(ip, name, network);
        if (why === undefined) return [];
        const isNew = now[device]?.[key] !== text;
        const isRefused = observed.server.isGantry === true && isNew && container.runs;
        return [stray(document, `devices.${device}.${key}`, text, why, isRefused)];
      });
    });
  });
}

/** Errors for new static addresses that their network will not give out, which servers refuse; warnings for those that are there. */
export function uselessAddresses(
  containers: readonly ExpectedContainer[],
  objects: readonly Document[],
  observed: Observed,
): readonly Diagnostic[] {
  const configOf = networkConfigs(objects, observed);
  const find = (document: Document, devices: Devices, now: Devices): readonly Diagnostic[] =>
    Object.entries(devices).flatMap(([device, given]) => {
      if (!isNic(given)) return [];
      const nic = resolved(given);
      const network = configOf(nic['parent'] ?? '', document.project);
      const before = now[device] === undefined ? {} : resolved(now[device]);
      return ([4, 6] as const).flatMap((family) => {
        const key = `ipv${family}.address` as const;
        const why = staticAddressProblem(nic, family, network);
        if (why === undefined) return [];
        const isThere = before[key] === nic[key] && staticAddressProblem(before, family, network) !== undefined;
        return [useless(document, `devices.${device}.${key}`, nic[key] ?? '', why, !isThere)];
      });
    });
  const profiles = objects.filter(({ kind }) => kind === 'profile');
  const declared = new Set(profiles.flatMap(({ values }) => Object.keys(presentDevices(values['devices']))));
  return [
    ...profiles.flatMap((one) =>
      find(one, presentDevices(one.values['devices']), observed.profiles.get(one.name)?.object.devices ?? {}),
    ),
    ...containers.flatMap(({ document, devices }) => {
      if (document === undefined) return [];
      const own = presentDevices(document.values['devices']);
      // The document of a profile reports its own.
      const found = Object.entries(devices).filter(([name]) => Object.hasOwn(own, name) || !declared.has(name));
      const now = observed.containers.get(document.name)?.object.expanded_devices ?? {};
      return find(document, Object.fromEntries(found), now);
    }),
  ];
}

type Devices = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The config of a managed network after the plan; undefined for other names. A new one gets addresses unless it says otherwise. */
function networkConfigs(objects: readonly Document[], observed: Observed) {
  const declared = new Map(objects.filter(({ kind }) => kind === 'network').map((one) => [one.name, one]));
  const { keyOf } = scopesOf(observed, objects);
  return (name: string, project: string | undefined): Readonly<Record<string, string>> | undefined => {
    const known = keyOf('network', name, project);
    const live = observed.networks.get(known)?.object;
    const document = declared.get(known);
    if (live?.managed !== true && document === undefined) return undefined;
    const written = mapOf(document?.values['config']);
    const base = live?.config ?? { 'ipv4.address': 'auto', 'ipv6.address': 'auto' };
    const kept = Object.entries(base).filter(([key]) => written[key] === undefined);
    return { ...Object.fromEntries(kept), ...presentTexts(written) };
  };
}

const refusal =
  (code: string, remedyAfter: string) =>
  (document: Document, path: string, text: string, why: string, isRefused: boolean): Diagnostic => ({
    severity: isRefused ? 'error' : 'warning',
    code,
    address: document.address,
    path,
    message: `${document.address} cannot have the address ${text}: ${why}`,
    remedy: `change ${path}${remedyAfter}`,
    ...document.location,
  });

const useless = refusal('address-without-dhcp', ' or the network');
const stray = refusal('address-outside', ', or the address of the network');
