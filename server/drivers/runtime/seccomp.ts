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

/** LXC's format: version, kind of list, then one call a line. */
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
    ...(compat ? compatLines() : []),
    '',
  ].join('\n');
}

/** Denies the 32-bit system call interface. */
function compatLines(): readonly string[] {
  const abi: Readonly<Record<string, string>> = { x64: 'x86', arm64: 'arm', ppc64: 'ppc' };
  const name = abi[process.arch];
  if (name === undefined) {
    throw new DriverError('NotSupported', 'security.syscalls.blacklist_compat is not available on this architecture');
  }
  return [`[${name}]`, 'compat_syscalls errno 38'];
}
