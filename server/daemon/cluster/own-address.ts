// Before a member opens the store of its cluster, and thereby shuts out any process with its number: checks that this host is the member,
// and not a host with a copy of its state directory.
import { createServer } from 'node:net';
import type { Membership } from '../../membership/membership.ts';
import { pause } from '../../lib/shared/deadline.ts';

/** An ending daemon may still listen there. */
const busyMs = 5_000;
const againMs = 250;

/** Throws an Error if another host, or another process, answers at the member's address. */
export async function checkOwnAddress({ address }: Pick<Membership, 'address'>, stateDir: string): Promise<void> {
  if (address === undefined) return;
  const untilMs = performance.now() + busyMs;
  for (;;) {
    const code = await refusalOf(address);
    if (code === 'EADDRNOTAVAIL')
      throw new Error(
        `This host does not have the address ${address} of its member of the cluster. Where the state directory is a copy of another host, run gantryd cluster leave --state-dir ${stateDir} --yes and start gantryd again; a member whose address changes leaves the cluster and joins again`,
      );
    if (code !== 'EADDRINUSE') return;
    if (performance.now() >= untilMs)
      throw new Error(
        `Another process listens at ${address}, the address of this member of the cluster: stop it. It may be a gantryd with another copy of ${stateDir}`,
      );
    await pause(againMs, undefined);
  }
}

/** Undefined: the address is free. The listener reports other errors. */
function refusalOf(address: string): Promise<string | undefined> {
  const { hostname, port } = new URL(`https://${address}`);
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
    server.listen(Number(port || '443'), hostname.replace(/^\[|\]$/g, ''), () =>
      server.close(() => resolve(undefined)),
    );
  });
}
