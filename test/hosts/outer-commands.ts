// Runs commands of Ceph for a booted machine beside the daemons of its cluster: the start of each takes seconds under emulation.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const port = 6790;

/** A script for the machine, called as `ceph`, `rbd` or `rados`: what needs the machine's kernel runs there, all else here. */
export const standIn = (address: string): string => `#!/bin/bash
program=\${0##*/}
for each; do case $each in device | bench) exec "/usr/bin/$program" "$@" ;; esac; done
exec 3<>/dev/tcp/${address}/${port}
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
      // A stand-in was killed.
      socket.on('close', () => child.kill());
    });
  }).listen(port, address);
  await once(server, 'listening');
  return server;
}
