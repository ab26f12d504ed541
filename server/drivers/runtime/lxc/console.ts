// Opens LXC's only connection to a container's console. console-hub.ts shares it among viewers.
import { spawnOnTerminal } from '../exec/attach.ts';
import type { RuntimeProcess, TerminalSize } from '../command.ts';
import { findProgram } from '../host/programs.ts';
import type { LxcPaths } from '../lxc-paths.ts';
import type { Libc } from '../host/syscalls.ts';

export function openLxcConsole(
  deps: { readonly paths: LxcPaths; readonly libc: Libc | undefined },
  name: string,
  size: TerminalSize,
): RuntimeProcess {
  const { paths, libc } = deps;
  // Tty 0 is the console. No escape key: viewers leave by themselves.
  const argv = ['-P', paths.lxcPath, '-n', paths.key(name), '-t', '0', '-e', '-1'];
  return spawnOnTerminal({ name, libc }, [findProgram('lxc-console') ?? 'lxc-console', ...argv], {
    size,
    carriageReturns: 2,
  });
}
