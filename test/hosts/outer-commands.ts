// Runs commands of Ceph for a booted machine beside the daemons of its cluster: the start of each takes seconds under emulation.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const port = 6790;

/** Asks the kernel itself to map and unmap images: the start of `rbd` takes ten seconds. Fails where `rbd` has to explain why. The cluster
 *  speaks only the second protocol, so a map with the first one fails. */
const mapping = (cluster: OuterAddress): string => `
ask_kernel() {
  case "$program $*" in
    'rbd device unmap /dev/rbd'*) echo "\${3#/dev/rbd}" >/sys/bus/rbd/remove_single_major; return ;;
    'rbd '*' device map '*'--options ms_mode=prefer-crc '*) ;;
    'rbd '*' device map '*) exit 2 ;;
    *) return 1 ;;
  esac
  image=\${!#} snapshot=- options=name=$4,secret=$(sed -n '/client.admin/,/key/s/.*key = //p' ${cluster.keyring}),ms_mode=prefer-crc
  case $image in *@*) snapshot=\${image#*@} image=\${image%@*} ;; esac
  case "$*" in *' --read-only '*) options=$options,ro ;; esac
  echo "${cluster.address}:${cluster.port} $options \${image%%/*} \${image#*/} $snapshot" >/sys/bus/rbd/add_single_major || return
  for each in /sys/bus/rbd/devices/*; do
    [ "$(<"$each/pool")/$(<"$each/name")@$(<"$each/current_snap")" != "$image@$snapshot" ] || device=/dev/rbd\${each##*/}
  done
  echo "$device"
}
ask_kernel "$@" 2>/dev/null && exit`;

export interface OuterAddress {
  readonly address: string;
  /** The port of the monitor. */
  readonly port: string;
  /** The keyring's path in the machine. */
  readonly keyring: string;
}

/** A script for the machine, called as `ceph`, `rbd` or `rados`: what needs the machine's kernel runs there, all else here. */
export const standIn = (cluster: OuterAddress): string => `#!/bin/bash
program=\${0##*/}${mapping(cluster)}
for each; do case $each in device | bench) exec "/usr/bin/$program" "$@" ;; esac; done
exec 3<>/dev/tcp/${cluster.address}/${port}
{ printf '%s\\0' "$program" "$@" | base64 -w0; echo; } >&3
read -r code said complained <&3
[ "$said" = - ] || base64 -d <<<"$said"
[ "$complained" = - ] || base64 -d <<<"$complained" >&2
exit "$code"`;

const coded = (bytes: Buffer): string => bytes.toString('base64') || '-';

/** Answers the stand-ins: each sends a line, the words of its command in base64. `inTree`: words before a command that bring it to the daemons. */
export async function serveCommands(address: string, inTree: readonly [string, ...string[]]): Promise<Server> {
  const [program, ...before] = inTree;
  const server = createServer((socket) => {
    let line = '';
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text: string) => {
      line += text;
      if (!line.endsWith('\n')) return;
      const words = Buffer.from(line, 'base64').toString().split('\0').slice(0, -1);
      const options = { encoding: 'buffer', maxBuffer: 2 ** 28 } as const;
      const child = execFile(program, [...before, ...words], options, (error, said, complained) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        socket.end(`${code} ${coded(said)} ${coded(complained)}\n`);
      });
      // A stand-in was killed: its command ends as suddenly.
      socket.on('close', () => child.kill('SIGKILL'));
    });
  }).listen(port, address);
  await once(server, 'listening');
  return server;
}
