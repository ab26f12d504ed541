// Renders a container's system call filter from security.syscalls.* and raw.seccomp. Pure.
import { syscallNames } from '../../../api/container/container-config.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import { driverErrors } from '../../driver-error.ts';

type Config = Readonly<Record<string, string>>;

const defaultDenied = [
  'reject_force_umount',
  '[all]',
  'kexec_load errno 38',
  'open_by_handle_at errno 38',
  'init_module errno 38',
  'finit_module errno 38',
  'delete_module errno 38',
] as const;

/** The value under the key's current name, or else its older one. */
function syscallKey(config: Config, key: (typeof syscallNames)[number][0]): string {
  const older = syscallNames.find(([name]) => name === key)?.[1] ?? key;
  return config[key] || config[older] || '';
}

/** Whether 32-bit system calls are refused. */
export const deniesCompat = (config: Config): boolean => isTrue(syscallKey(config, 'security.syscalls.deny_compat'));

/** LXC's format: version, kind of list, then one call a line; undefined: no filter. native-abi-filter.ts does
 *  security.syscalls.deny_compat. */
export function renderSeccomp(config: Config): string | undefined {
  const raw = config['raw.seccomp'] ?? '';
  const allowed = syscallKey(config, 'security.syscalls.allow');
  const denied = syscallKey(config, 'security.syscalls.deny');
  const byDefault = syscallKey(config, 'security.syscalls.deny_default');
  if (raw !== '') {
    if (allowed !== '' || denied !== '') {
      throw driverErrors.invalid('raw.seccomp cannot be used together with security.syscalls.*');
    }
    return `${raw}\n`;
  }
  if (allowed !== '') {
    if (denied !== '' || deniesCompat(config) || byDefault !== '') {
      throw driverErrors.invalid('security.syscalls.allow excludes security.syscalls.deny*');
    }
    return `2\nwhitelist\n[all]\n${allowed}\n`;
  }
  const hasDefault = byDefault === '' || isTrue(byDefault);
  if (!hasDefault && denied === '') return undefined;
  return ['2', 'blacklist', ...(hasDefault ? defaultDenied : []), ...(denied === '' ? [] : ['[all]', denied]), ''].join(
    '\n',
  );
}
