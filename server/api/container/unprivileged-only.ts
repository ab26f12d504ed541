// Refuses configs of privileged containers on a daemon for unprivileged ones only. Pure.
import type { Problem } from '../problem.ts';
import type { ConfigMap } from '../schema/common-schemas.ts';
import { isTrue } from '../text/value-checks.ts';

const why = 'the server is started for unprivileged containers only (--unprivileged-only)';

/** Problems of a profile, or of a container with its profiles applied. */
export function privilegeProblems(config: ConfigMap): readonly Problem[] {
  const problems: Problem[] = [];
  if (isTrue(config['security.privileged']))
    problems.push({ path: 'config.security.privileged', message: `must not be true: ${why}` });
  const line = (config['raw.idmap'] ?? '').split('\n').find(mapsHostRoot);
  if (line !== undefined)
    problems.push({
      path: 'config.raw.idmap',
      message: `must not map root of the host, as ${JSON.stringify(line.trim())} does: ${why}`,
    });
  return problems;
}

/** A range starts with its lowest id, so only one that starts with 0 contains it. */
const mapsHostRoot = (line: string): boolean => /^(?:both|uid|gid)\s+0+(?:\s|-)/.test(line.trim());
