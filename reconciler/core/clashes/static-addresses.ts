// Finds static addresses of containers outside the planned subnet of their network. Pure.
import { isNic } from '../../../server/api/devices/index.ts';
import { addressProblem } from '../../../server/api/network/address-in-subnet.ts';
import { parseCidr, parseIp } from '../../../server/api/text/ip.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document } from '../documents/document.ts';
import { asText, mapOf } from '../documents/json-values.ts';
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

const stray = (document: Document, path: string, text: string, why: string, isRefused: boolean): Diagnostic => ({
  severity: isRefused ? 'error' : 'warning',
  code: 'address-outside',
  address: document.address,
  path,
  message: `${document.address} cannot have the address ${text}: ${why}`,
  remedy: `change ${path}, or the address of the network`,
  ...document.location,
});
