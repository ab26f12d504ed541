// The keys that liblxc 4 to 6 reads. Pure.
import { hint } from '../text/nearest-word.ts';

/** By the word after `lxc.`; '' is that word alone. */
const words: Readonly<Record<string, readonly string[]>> = {
  apparmor: ['allow_incomplete', 'allow_nesting', 'profile', 'raw'],
  arch: [''],
  autodev: ['', 'tmpfs.size'],
  cap: ['drop', 'keep'],
  console: ['buffer.size', 'logfile', 'path', 'rotate', 'size'],
  environment: ['', 'hooks', 'runtime'],
  ephemeral: [''],
  execute: ['cmd'],
  group: [''],
  hook: [
    'autodev',
    'clone',
    'destroy',
    'mount',
    'post-stop',
    'pre-mount',
    'pre-start',
    'start',
    'start-host',
    'stop',
    'version',
  ],
  idmap: [''],
  include: [''],
  init: ['cmd', 'cwd', 'gid', 'groups', 'uid'],
  keyring: ['session'],
  log: ['file', 'level', 'syslog'],
  monitor: ['signal.pdeath', 'unshare'],
  mount: ['auto', 'entry', 'fstab'],
  namespace: ['clone', 'keep'],
  no_new_privs: [''],
  pty: ['max'],
  rootfs: ['managed', 'mount', 'options', 'path'],
  sched: ['core'],
  seccomp: ['allow_nesting', 'notify.cookie', 'notify.proxy', 'profile'],
  selinux: ['context', 'context.keyring'],
  signal: ['halt', 'reboot', 'stop'],
  start: ['auto', 'delay', 'order'],
  time: ['offset.boot', 'offset.monotonic'],
  tty: ['dir', 'max'],
  uts: ['name'],
};

const keys: ReadonlySet<string> = new Set(
  Object.entries(words).flatMap(([word, rest]) => rest.map((more) => `lxc.${word}${more === '' ? '' : `.${more}`}`)),
);

/** Followed by a user-chosen name. */
const families = [
  'lxc.cgroup.',
  'lxc.cgroup2.',
  'lxc.namespace.share.',
  'lxc.net.',
  'lxc.prlimit.',
  'lxc.proc.',
  'lxc.sysctl.',
];

/** Undefined for a key that liblxc reads. */
export function unknownKey(key: string): string | undefined {
  const isKnown = keys.has(key) || families.some((family) => key.startsWith(family) && key.length > family.length);
  return isKnown ? undefined : `liblxc has no key ${JSON.stringify(key.slice(0, 100))}${hint(key, keys)}`;
}
