// A client machine for network tests: a network namespace with one veth to a bridge. leave() removes everything.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exec } from '../../../server/lib/exec.ts';
import type { NetworkClient } from '../../conformance/network.ts';

export interface Netns extends NetworkClient {
  readonly netns: string;
  readonly hostEnd: string;
  /** The search domains in an IPv4 lease, separated by spaces; undefined: no lease. */
  searchList(): Promise<string | undefined>;
  run(argv: readonly string[], okCodes?: readonly number[], input?: string): Promise<{ code: number; stdout: string }>;
}

const script = `#!/bin/sh
case "$1" in
  deconfig) ip -4 addr flush dev "$interface" ;;
  bound) ip addr add "$ip/$mask" dev "$interface"; [ -n "$router" ] && ip route replace default via "$router"; [ -n "$mtu" ] && ip link set dev "$interface" mtu "$mtu"; echo "BOUND $ip SEARCH $search" ;;
esac
exit 0
`;

let count = 0;

/** `bridge` undefined: the host end stays free (an outside machine). */
const udhcpc = 'busybox udhcpc -i eth0 -n -q -f -t 3 -T 1'.split(' ');

export async function joinNetns(
  prefix: string,
  bridge: string | undefined,
  client: { readonly hwaddr: string; readonly hostname: string },
): Promise<Netns> {
  count += 1;
  const netns = `${prefix}c${count}`;
  const hostEnd = `${prefix}h${count}`;
  const dir = await mkdtemp(join(tmpdir(), 'gtyn-client-'));
  const dhcp = join(dir, 'bound.sh');
  await writeFile(dhcp, script);
  await chmod(dhcp, 0o755);
  const run: Netns['run'] = (argv, okCodes = [0], input) =>
    exec(['ip', 'netns', 'exec', netns, ...argv], { okCodes, ...(input === undefined ? {} : { input }) });
  const leave = async (): Promise<void> => {
    await exec(['ip', 'netns', 'del', netns], { okCodes: [0, 1] });
    // The veth vanishes a little after the namespace; its name has to be free at once.
    await exec(['ip', 'link', 'del', 'dev', hostEnd], { okCodes: [0, 1, 2] });
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await exec(['ip', 'netns', 'add', netns]);
    const lines = [
      `link add name ${hostEnd} type veth peer name eth0 address ${client.hwaddr} netns ${netns}`,
      ...(bridge === undefined ? [] : [`link set dev ${hostEnd} master ${bridge}`]),
      `link set dev ${hostEnd} up`,
    ];
    await exec(['ip', '-batch', '-'], { input: `${lines.join('\n')}\n` });
    await exec(['ip', '-n', netns, '-batch', '-'], { input: 'link set dev lo up\nlink set dev eth0 up\n' });
  } catch (error) {
    await leave();
    throw error;
  }
  return {
    hwaddr: client.hwaddr,
    netns,
    hostEnd,
    run,
    leave,
    async request() {
      const { stdout } = await run([...udhcpc, '-s', dhcp, '-x', `hostname:${client.hostname}`], [0, 1]);
      return /BOUND ([0-9.]+)/.exec(stdout)?.[1];
    },
    async searchList() {
      const { stdout } = await run([...udhcpc, '-O', 'search', '-s', dhcp], [0, 1]);
      return /SEARCH (.*)/.exec(stdout)?.[1]?.trim();
    },
    async ipv6() {
      const { stdout } = await run(['ip', '-6', '-o', 'addr', 'show', 'dev', 'eth0', 'scope', 'global']);
      return [...stdout.matchAll(/inet6 ([0-9a-f:]+)\//g)].map((match) => match[1] ?? '');
    },
  };
}
