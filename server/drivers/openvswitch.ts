// Open vSwitch bridges and their ports: networks make such bridges, runtimes attach nics to them. Its own database keeps both over a
// reboot.
import { exec, ExecError } from '../lib/exec.ts';
import { driverErrors } from './driver-error.ts';

const timeoutS = 15;

/** Runs ovs-vsctl, which waits until the switch has applied it. Throws DriverError. */
export async function ovs(what: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
  const argv = ['ovs-vsctl', `--timeout=${timeoutS}`, ...args];
  try {
    return (await exec(argv, { timeoutMs: (timeoutS + 5) * 1000 }, signal)).stdout;
  } catch (error) {
    if (!(error instanceof ExecError) || signal?.aborted === true) throw error;
    const why = error.stderr
      .trim()
      .split('\n')[0]
      ?.replace(/^ovs-vsctl: /, '');
    throw why === undefined || why === ''
      ? driverErrors.notSupported(`${what}: ovs-vsctl cannot be run (Debian package openvswitch-switch)`, error)
      : driverErrors.failed(`${what}: Open vSwitch says ${why}`, error);
  }
}

/** Also false without Open vSwitch. */
export async function isOvsBridge(name: string): Promise<boolean> {
  const args = ['ovs-vsctl', `--timeout=${timeoutS}`, '--no-wait', 'br-exists', name];
  return exec(args, { okCodes: [0, 1, 2] }).then(
    ({ code }) => code === 0,
    () => false,
  );
}

/** Idempotent. */
export const attachPort = (bridge: string, port: string): Promise<string> =>
  ovs(`put ${port} on the bridge ${bridge}`, ['--may-exist', 'add-port', bridge, port]);

/** Idempotent: the database would keep a port without an interface. */
export const detachPort = (bridge: string, port: string): Promise<string> =>
  ovs(`take ${port} off the bridge ${bridge}`, ['--if-exists', 'del-port', bridge, port]);
