// Finds static addresses of nics that their planned network does not have or would not give out. Pure.
import { isNic } from '../../../server/api/devices/index.ts';
import { staticAddressProblem } from '../../../server/api/network/static-address.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { mapOf, presentDevices, presentTexts } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import { scopesOf } from '../live/project-scope.ts';
import { resolved, type ExpectedContainer } from './expected-containers.ts';

/** Errors for new static addresses, which servers refuse; warnings for those that are there. */
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
    // For auto, what the server has picked stays.
    const kept = Object.entries(base).filter(
      ([key, value]) => written[key] === undefined || (written[key] === 'auto' && !['', 'none'].includes(value)),
    );
    return { ...presentTexts(written), ...Object.fromEntries(kept) };
  };
}

const useless = (document: Document, path: string, text: string, why: string, isRefused: boolean): Diagnostic => ({
  severity: isRefused ? 'error' : 'warning',
  code: 'static-address',
  address: document.address,
  path,
  message: `${document.address} cannot have the address ${text}: ${why}`,
  remedy: `change ${path} or the network`,
  ...document.location,
});
