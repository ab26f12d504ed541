// Validates the lines of raw.lxc, which are appended to the generated configuration of a container: when the key is set, and again at each
// start. Pure.
import type { Problem } from '../problem.ts';
import { shown } from '../text/value-checks.ts';
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
function unknownKey(key: string): string | undefined {
  const isKnown = keys.has(key) || families.some((family) => key.startsWith(family) && key.length > family.length);
  return isKnown ? undefined : `liblxc has no key ${JSON.stringify(key.slice(0, 100))}${hint(key, keys)}`;
}

/** Prefixes of keys that the driver itself relies on, or that would let a container escape its other keys. */
const refusedKeys: readonly (readonly [prefix: string, reason: string])[] = [
  ['lxc.log.', 'the log belongs to the daemon'],
  ['lxc.logfile', 'the log belongs to the daemon'],
  ['lxc.loglevel', 'the log belongs to the daemon'],
  ['lxc.syslog', 'the log belongs to the daemon'],
  ['lxc.ephemeral', 'use an ephemeral container'],
  ['lxc.prlimit.', 'use limits.kernel.*'],
  ['lxc.net.', 'use a nic device'],
  ['lxc.network', 'use a nic device'],
  ['lxc.idmap', 'use raw.idmap'],
  ['lxc.id_map', 'use raw.idmap'],
  ['lxc.include', 'write the lines themselves'],
  ['lxc.rootfs', 'use the root disk device'],
  ['lxc.uts.', 'the name belongs to the daemon'],
  ['lxc.utsname', 'the name belongs to the daemon'],
  ['lxc.cgroup.dir', 'control group paths belong to the daemon'],
  ['lxc.cgroup.relative', 'control group paths belong to the daemon'],
  ['lxc.monitor.unshare', 'the monitor belongs to the daemon'],
  ['lxc.hook.version', 'hooks are run with version 1'],
  ['lxc.console.logfile', 'the console log belongs to the daemon'],
  ['lxc.start.', 'use boot.*'],
  ['lxc.group', 'use boot.*'],
];

const allowedNicKey = /^lxc\.(net|network)\.[0-9]+\.ipv[46](\.address|\.gateway)?$/;

/** The usable lines, or the first problem, which names the line and the key. */
export function parseRawLxc(text: string): readonly string[] | { readonly problem: string } {
  const lines: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const broken = brokenRule(trimmed);
    if (broken !== undefined) return { problem: `raw.lxc: line ${index + 1}, ${shown(trimmed)}: ${broken}` };
    const equals = trimmed.indexOf('=');
    lines.push(`${trimmed.slice(0, equals).trim()} = ${trimmed.slice(equals + 1).trim()}`);
  }
  return lines;
}

function brokenRule(line: string): string | undefined {
  if (hasControlCharacter(line)) return 'it holds a control character';
  const equals = line.indexOf('=');
  if (equals < 0) return 'it has no "=": write KEY = VALUE';
  const key = line.slice(0, equals).trim().toLowerCase();
  const refused = refusedKeys.find(([prefix]) => key.startsWith(prefix));
  if (refused !== undefined && !allowedNicKey.test(key)) return `the key ${shown(key)} is not allowed: ${refused[1]}`;
  const unknown = refused === undefined ? unknownKey(key) : undefined;
  if (unknown !== undefined) return unknown;
  // An empty value clears a whole list; the daemon's own hooks and mounts are in these lists. A user who may set raw.lxc may also give a
  // container every capability: programs that need them, such as RKE2, require that reset.
  const isEmpty = line.slice(equals + 1).trim() === '';
  return isEmpty && key !== 'lxc.cap.drop' && /^lxc\.(hook|mount|cgroup2?|cap|environment)\b/.test(key)
    ? `the key ${shown(key)} needs a value: an empty one would undo the daemon's own lines`
    : undefined;
}

/** At most one problem, with the path `config.raw.lxc`; none when the value equals that of `previous`. */
export function rawLxcProblems(
  config: Readonly<Record<string, string>>,
  previous?: Readonly<Record<string, string>>,
): readonly Problem[] {
  const text = config['raw.lxc'] ?? '';
  if (text === previous?.['raw.lxc']) return [];
  // The length limit already refuses longer lines.
  if (text.length > 65_536) return [];
  const parsed = parseRawLxc(text);
  return 'problem' in parsed ? [{ path: 'config.raw.lxc', message: parsed.problem }] : [];
}

export function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if ((code < 32 && code !== 9) || code === 127) return true;
  }
  return false;
}
