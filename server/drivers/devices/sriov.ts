// Finds a free virtual function of a network card in sysfs. Changes nothing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { driverErrors } from '../driver-error.ts';
import { type HostPaths, interfaceDir, list, readText } from './host-paths.ts';

export interface VirtualFunction {
  readonly index: number;
  /** Its interface on the host. */
  readonly name: string;
}

/** `preferred`: the interface used before, chosen again if it is free. */
export function chooseVirtualFunction(
  host: HostPaths,
  parent: string,
  what: string,
  preferred: string | undefined,
): VirtualFunction {
  const dir = join(interfaceDir(host, parent), 'device');
  if (!existsSync(interfaceDir(host, parent))) {
    throw driverErrors.notFound(`${what}: the parent ${parent} does not exist on the host`);
  }
  if (!existsSync(join(dir, 'sriov_numvfs'))) {
    throw driverErrors.notSupported(`${what}: the parent ${parent} has no virtual functions (no SR-IOV)`);
  }
  const free = virtualFunctions(dir).filter(({ name }) => isFree(host, name));
  const found = free.find(({ name }) => name === preferred) ?? free[0];
  if (found !== undefined) return found;
  const [made, max] = [readText(join(dir, 'sriov_numvfs')), readText(join(dir, 'sriov_totalvfs'))];
  throw driverErrors.notFound(
    `${what}: none of the ${made} virtual functions of ${parent} is free (the card can have ${max === '' ? '?' : max}: raise ${dir}/sriov_numvfs)`,
  );
}

/** Functions with an interface on the host: a function in use by a container shows none here. */
function virtualFunctions(dir: string): readonly VirtualFunction[] {
  return list(dir)
    .flatMap((entry) => {
      const index = /^virtfn([0-9]+)$/.exec(entry)?.[1];
      const name = index === undefined ? undefined : list(join(dir, entry, 'net'))[0];
      return index === undefined || name === undefined ? [] : [{ index: Number(index), name }];
    })
    .toSorted((a, b) => a.index - b.index);
}

/** An interface that is up is used by the host. */
const isFree = (host: HostPaths, name: string): boolean =>
  readText(join(interfaceDir(host, name), 'operstate')) !== 'up';
