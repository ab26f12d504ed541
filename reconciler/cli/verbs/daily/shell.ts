// `gantry shell NAME`: runs a login shell in a container, as `gantry exec` does.
import type { Run } from '../../session/context.ts';
import { parseContainer } from '../../flags/parse-values.ts';
import { runInside } from '../containers/exec.ts';
import { usageError } from '../../errors/usage-error.ts';
import type { ShellOptions } from './daily-verbs.ts';

/** Prefers bash; busybox has only sh. */
const login = 'cd "${HOME:-/}" 2>/dev/null; command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l';

export const shell: Run<ShellOptions> = async (context, [word = '']) => {
  const name = parseContainer(word, 'gantry shell');
  const { user } = context.options;
  if (user?.startsWith('-') === true) throw usageError(`--user ${JSON.stringify(user)} is not the name of a user`);
  const command = user === undefined ? ['sh', '-c', login] : ['su', '-', user];
  return runInside(context, name, command, {});
};
