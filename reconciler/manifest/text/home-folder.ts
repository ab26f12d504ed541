// The folder of the user who runs this program, also where neither the environment nor the list of users names one.
import { userInfo } from 'node:os';
import { attempt } from '../../../server/lib/shared/attempt.ts';

/** An empty HOME counts as none. A user without a folder, as a bare number in a container is, has `/`, as for shells. */
export const homeFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  env['HOME'] || attempt(() => userInfo().homedir, '') || '/';
