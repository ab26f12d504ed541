// Starts a command in a running LXC container, or says why that is not possible now.
import { DriverError } from '../driver-error.ts';
import { spawnAttached } from './attach.ts';
import { type CgroupTree, isFrozen } from './cgroup.ts';
import type { RuntimeCommand, RuntimeProcess } from './driver.ts';
import type { FileDeps } from './lxc-files.ts';
import { hasMonitor } from './lxc-life.ts';
import { nativeOnly } from './native-only.ts';
import type { RunState } from './run-state.ts';

/** `program`: path of lxc-attach. */
export function spawnIn(
  deps: Pick<FileDeps, 'places' | 'libc'> & { readonly tree: CgroupTree },
  state: RunState,
  program: string,
  command: RuntimeCommand,
): RuntimeProcess {
  const { tree, places, libc } = deps;
  const { name, initPid } = state;
  const refuse = (reason: string): never => {
    throw new DriverError('Failed', `Cannot run a command in container "${name}"`, new Error(reason));
  };
  // lxc-attach would hang in the first case, and in the second end as if the command had failed.
  if (isFrozen(tree, places.group(name))) refuse('it is frozen');
  if (!hasMonitor(state)) refuse('it has lost its monitor: stop it by force and start it again');
  const before = state.nativeOnly === true ? nativeOnly() : [];
  const target = { lxcPath: places.lxcPath, key: places.key(name), name, initPid, libc, program, before };
  return spawnAttached(target, command);
}
