// Lets a network through docker's firewall, which drops forwarded traffic of others: two rules in the chain that docker leaves to users.
import type { Log } from '../../lib/log.ts';
import { exec } from '../../lib/exec.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { runTool } from './host-tools.ts';

const chain = 'DOCKER-USER';
const programs = { ip: 'iptables', ip6: 'ip6tables' } as const;

/** The commands to run, given the chain as `iptables -S` lists it. Pure. */
export function dockerUserChanges(listing: string, name: string, isWanted: boolean): string[][] {
  const present = new Set(listing.split('\n').map((line) => line.trim()));
  return ['-i', '-o'].flatMap((side) => {
    const rule = [chain, side, name, '-j', 'ACCEPT'];
    if (present.has(['-A', ...rule].join(' ')) === isWanted) return [];
    return [[isWanted ? '-I' : '-D', ...rule]];
  });
}

/** Adds the rules of a network, or removes them; does nothing without docker. A failure only cuts the network off beside docker, so it is
 *  logged. */
export async function passDocker(name: string, isWanted: boolean, log: Log): Promise<void> {
  await Promise.all(
    Object.entries(programs).map(([family, program]) =>
      passFamily(family, program, name, isWanted).catch((error: unknown) =>
        log.warn('the rules for the firewall of docker cannot be changed', { network: name, reason: errorText(error) }),
      ),
    ),
  );
}

async function passFamily(family: string, program: string, name: string, isWanted: boolean): Promise<void> {
  const found = await runTool('nft', ['list', 'chain', family, 'filter', chain], { okCodes: [0, 1] });
  if (found.code !== 0) return;
  const { stdout } = await exec([program, '-w', '10', '-S', chain]);
  for (const change of dockerUserChanges(stdout, name, isWanted)) await exec([program, '-w', '10', ...change]);
}
