// Judges the lines of raw.lxc: what may be appended to a container's generated configuration. Writes nothing.

/** Beginnings of keys that the driver itself relies on, or that would let a container escape what its other keys say. */
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

/** The usable lines, or the first problem. */
export function parseRawLxc(text: string): readonly string[] | { readonly problem: string } {
  const lines: string[] = [];
  for (const line of text.split(/\r?\n/).map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) continue;
    if (hasControlCharacter(line)) return { problem: `raw.lxc: line "${printable(line)}" holds a control character` };
    const equals = line.indexOf('=');
    if (equals < 0) return { problem: `raw.lxc: line "${line}" has no "="` };
    const name = line.slice(0, equals).trim();
    const key = name.toLowerCase();
    const value = line.slice(equals + 1).trim();
    const refused = refusedKeys.find(([prefix]) => key.startsWith(prefix));
    if (refused !== undefined && !allowedNicKey.test(key)) {
      return { problem: `raw.lxc: key ${key} is not allowed: ${refused[1]}` };
    }
    // An empty value empties a whole list; the daemon's own hooks and mounts are in these lists.
    if (value === '' && /^lxc\.(hook|mount|cgroup2?|cap|environment)\b/.test(key)) {
      return { problem: `raw.lxc: key ${key} needs a value: an empty one would undo the daemon's own lines` };
    }
    lines.push(`${name} = ${value}`);
  }
  return lines;
}

export function hasControlCharacter(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if ((code < 32 && code !== 9) || code === 127) return true;
  }
  return false;
}

const printable = (text: string): string => JSON.stringify(text).slice(1, -1);
