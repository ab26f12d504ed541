// Renders a container's system call filter from security.syscalls.* and raw.seccomp. Pure.
import { isTrue } from '../../api/value-check.ts';
import { DriverError } from '../driver-error.ts';

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

/** LXC's format: version, kind of list, then one call a line. security.syscalls.blacklist_compat: native-only.ts. */
export function renderSeccomp(config: Config): string {
  const get = (key: string): string => config[key] ?? '';
  const raw = get('raw.seccomp');
  const allowed = get('security.syscalls.whitelist');
  const denied = get('security.syscalls.blacklist');
  const compat = isTrue(get('security.syscalls.blacklist_compat'));
  if (raw !== '') {
    if (allowed !== '' || denied !== '') {
      throw new DriverError('Invalid', 'raw.seccomp cannot be used together with security.syscalls.*');
    }
    return `${raw}\n`;
  }
  if (allowed !== '') {
    if (denied !== '' || compat || get('security.syscalls.blacklist_default') !== '') {
      throw new DriverError('Invalid', 'security.syscalls.whitelist excludes security.syscalls.blacklist*');
    }
    return `2\nwhitelist\n[all]\n${allowed}\n`;
  }
  const byDefault = get('security.syscalls.blacklist_default');
  return [
    '2',
    'blacklist',
    ...(byDefault === '' || isTrue(byDefault) ? defaultDenied : ['[all]']),
    ...(denied === '' ? [] : ['[all]', denied]),
    '',
  ].join('\n');
}
