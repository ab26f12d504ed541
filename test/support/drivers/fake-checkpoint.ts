// Fakes of criu and lxc-checkpoint: a dump kills the container's init, a restore starts the container again. The driver around them is
// real. Tests nothing itself.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointPrograms } from '../../../server/drivers/runtime/checkpoint/criu.ts';

export interface FakeCheckpoint {
  readonly programs: CheckpointPrograms;
  /** The next runs of the tool of that kind fail like a real one: with these lines in CRIU's log. */
  fail(kind: 'dump' | 'restore', ...log: readonly string[]): void;
  /** The next `times` dumps fail with this error of CRIU, those after them work. */
  failFirst(times: number, error: string): void;
  works(): void;
  /** Duration of a dump in seconds. */
  slow(seconds: number): void;
}

const stats = String.raw`\x17\x92\x4f\x58\x5f\x4e\x1d\x4b\x08\x00\x00\x00\x0a\x06\x28\x64\x30\x4b\x38\x19`;

const criu = (dir: string): string => `#!/bin/sh
[ "$1" = check ] && exit 0
[ "$1" = --version ] && echo 'Version: 4.0' && exit 0
kind=$1 stop=1
while [ $# -gt 0 ]; do case "$1" in
  --images-dir) images="$2"; shift;; --log-file) log="$2"; shift;;
  --images-dir=*) images="\${1#*=}";; --log-file=*) log="\${1#*=}";; --tree=*) pid="\${1#*=}";;
  --leave-running) stop=;; --action-script=*) script="\${1#*=}";;
esac; shift; done
cp "$CRIU_CONFIG_FILE" "$images/settings"
[ -e ${dir}/fail-dump ] && { cat ${dir}/fail-dump > "$images/$log"; exit 1; }
left=$(cat ${dir}/fail-first 2>/dev/null || echo 0)
if [ "$left" -gt 0 ]; then
  echo $((left - 1)) > ${dir}/fail-first
  cp ${dir}/fail-first-error "$images/$log"
  exit 1
fi
if [ $kind = dump ]; then
  [ -e ${dir}/slow ] && sleep "$(cat ${dir}/slow)"
  [ -n "$script" ] && CRTOOLS_SCRIPT_ACTION=post-dump "$script"
  echo memory > "$images/pages-1.img"
  [ -n "$stop" ] && kill -9 "$pid"
fi
printf '${stats}' > "$images/stats-dump"
`;

const lxcCheckpoint = (dir: string): string => `#!/bin/sh
while [ $# -gt 0 ]; do case "$1" in
  -P) path="$2"; shift;; -n) name="$2"; shift;; -D) images="$2"; shift;; -o) log="$2"; shift;;
esac; shift; done
cp "$CRIU_CONFIG_FILE" "$images/settings"
if [ -e ${dir}/fail-restore ]; then cat ${dir}/fail-restore > "$images/restore.log"; echo x > "$log"; exit 1; fi
exec env -i lxc-start -P "$path" -n "$name" -d
`;

export function fakeCheckpoint(dir: string): FakeCheckpoint {
  mkdirSync(dir, { recursive: true });
  const program = (name: string, text: string): string => {
    const file = join(dir, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
    return file;
  };
  for (const tool of ['iptables-save', 'iptables-restore', 'ip6tables-save', 'ip6tables-restore']) {
    program(tool, '#!/bin/sh\n');
  }
  return {
    programs: { criu: program('criu', criu(dir)), lxcCheckpoint: program('lxc-checkpoint', lxcCheckpoint(dir)) },
    fail: (kind, ...log) => writeFileSync(join(dir, `fail-${kind}`), `${log.join('\n')}\n`),
    failFirst: (times, error) => {
      writeFileSync(join(dir, 'fail-first-error'), `${error}\n`);
      writeFileSync(join(dir, 'fail-first'), `${times}\n`);
    },
    works: () => {
      for (const file of ['fail-dump', 'fail-restore', 'slow']) rmSync(join(dir, file), { force: true });
    },
    slow: (seconds) => writeFileSync(join(dir, 'slow'), seconds.toString()),
  };
}
